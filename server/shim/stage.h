// The processes that copy files to the nodes of a job: a reader on the node
// that has the files, and a writer on each node. They execute the shim's
// program (preload::kStageProgram), because every node has it and because they
// must read and write as the job's user. server/control/staging.h starts them
// and connects their streams.
#ifndef CANOPY_SERVER_SHIM_STAGE_H_
#define CANOPY_SERVER_SHIM_STAGE_H_

namespace canopy::process {

// Arguments: preload::kStageProgram and one of
//   preload::kStageRead, then four words for each preload::Item (name, source,
//     path, cwd): writes the archive to standard output.
//   preload::kStageWrite: writes the files of the archive on standard input
//     below the directory in preload::kJobDirectoryVariable, reports this with
//     a line, and exits at the end of its input.
// Returns the exit code: 127 if a program is not found, 126 if it is not
// executable, and 1 for any other error, with a line on standard error.
int RunStage(int argc, char** argv);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_STAGE_H_
