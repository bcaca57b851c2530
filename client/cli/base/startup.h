// What a program does that may be called canopy, mpirun, mpiexec or prterun.
#ifndef CANOPY_CLIENT_CLI_BASE_STARTUP_H_
#define CANOPY_CLIENT_CLI_BASE_STARTUP_H_

#include <string>
#include <string_view>

namespace canopy::cli {

// Opens /dev/null in the place of standard streams that were closed when the
// program started, which it may do anew. To be called first.
void OpenStandardStreams(char** argv);

// "/usr/bin/canopy-mpirun" is called mpirun.
std::string ProgramName(std::string_view path);
// That name means `canopy run`.
bool IsRunName(std::string_view program);

// "--version" and its like.
bool IsVersionWord(std::string_view word);
// Returns the exit code of the process.
int PrintVersion();

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_BASE_STARTUP_H_
