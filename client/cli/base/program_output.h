// Programs that the command starts to read what they print.
#ifndef CANOPY_CLIENT_CLI_BASE_PROGRAM_OUTPUT_H_
#define CANOPY_CLIENT_CLI_BASE_PROGRAM_OUTPUT_H_

#include <functional>
#include <string>
#include <vector>

#include "common/status.h"

namespace canopy::cli {

struct ProgramOutput {
  std::string text;
  int status = 0;  // as of waitpid
};

// Waits for its end. `argv` begins with the program's own name. It has an empty
// standard input and no signal blocked; `quiet`: what it writes to standard
// error is dropped. kErrJobSysOpFailed when it can not be started.
Result<ProgramOutput> RunProgram(const std::string& program,
                                 std::vector<std::string> argv, bool quiet);

// When `fd` can be read, `stops` reads it and says whether that is the end.
struct StopSource {
  int fd = -1;
  std::function<bool()> stops;
};

// The same for one that may take long, with our standard error: it is ended by
// SIGTERM when it is to stop, which gives kErrJobCanceled.
Result<ProgramOutput> RunProgramUntil(const std::string& program,
                                      std::vector<std::string> argv,
                                      const StopSource& stop);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_BASE_PROGRAM_OUTPUT_H_
