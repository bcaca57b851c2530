// Runs programs and reads their standard output.
#ifndef CANOPY_CLIENT_CLI_BASE_PROGRAM_OUTPUT_H_
#define CANOPY_CLIENT_CLI_BASE_PROGRAM_OUTPUT_H_

#include <functional>
#include <string>
#include <vector>

#include "common/status.h"

namespace canopy::cli {

struct ProgramOutput {
  std::string text;
  int status = 0;  // as waitpid reports it
};

// Runs `program` and waits for its end. `argv` begins with the program's own
// name. The program's standard input is empty and no signal is blocked. With
// `quiet` its standard error is discarded. Returns kErrJobSysOpFailed if the
// program cannot be started.
Result<ProgramOutput> RunProgram(const std::string& program,
                                 std::vector<std::string> argv, bool quiet);

// A source of requests to end a program. When `fd` is readable, `stops` reads
// it and returns true if the program is to be ended.
struct StopSource {
  int fd = -1;
  std::function<bool()> stops;
};

// Like RunProgram, for a program that may take long and shares the caller's
// standard error. If `stop` ends the program, the program gets SIGTERM and the
// result is kErrJobCanceled. Other errors are those of RunProgram.
Result<ProgramOutput> RunProgramUntil(const std::string& program,
                                      std::vector<std::string> argv,
                                      const StopSource& stop);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_BASE_PROGRAM_OUTPUT_H_
