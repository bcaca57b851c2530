// The processes that copy files to the nodes of a job: one where the files are,
// one on each node. They are this program again (preload::kStageProgram), so
// that every node has it and that it reads and writes as the job's user; who
// starts them and connects their streams is server/control/staging.h.
#ifndef CANOPY_SERVER_SHIM_STAGE_H_
#define CANOPY_SERVER_SHIM_STAGE_H_

namespace canopy::process {

// Arguments: preload::kStageProgram and
//   preload::kStageRead, then four of each preload::Item (name, source, path,
//   cwd):
//     writes the archive to standard output;
//   preload::kStageWrite: writes what comes on standard input below the
//   directory in
//     preload::kJobDirectoryVariable, says so by a line, and ends when its
//     input does.
// Returns the exit code: 127, a program is not there; 126, it is not
// executable; 1, anything else, with a line on standard error.
int RunStage(int argc, char** argv);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_STAGE_H_
