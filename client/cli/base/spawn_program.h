// Starts programs whose standard output is a descriptor of the caller.
#ifndef CANOPY_CLIENT_CLI_BASE_SPAWN_PROGRAM_H_
#define CANOPY_CLIENT_CLI_BASE_SPAWN_PROGRAM_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace canopy::cli {

struct SpawnOptions {
  bool quiet = false;          // the program's standard error is discarded
  bool searches_path = false;  // PATH is searched for the program
  bool own_group = false;      // Ctrl-C does not reach the program
};

// Starts `program` with an empty standard input, with `out` as its standard
// output, and with no signal blocked. `argv` begins with the program's own
// name. Returns 0 and sets `*pid`, or returns the error number.
int SpawnProgram(const std::string& program, std::vector<std::string> argv,
                 int out, const SpawnOptions& options, pid_t* pid);

// Waits for the end of a child process. Returns its status, as waitpid reports
// it.
int AwaitEnd(pid_t pid);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_BASE_SPAWN_PROGRAM_H_
