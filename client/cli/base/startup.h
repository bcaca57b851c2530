// The start of a program that may be called canopy, mpirun, mpiexec or prterun.
#ifndef CANOPY_CLIENT_CLI_BASE_STARTUP_H_
#define CANOPY_CLIENT_CLI_BASE_STARTUP_H_

#include <string>
#include <string_view>

namespace canopy::cli {

// Opens /dev/null for standard streams that were closed when the program
// started. May execute the program anew for this, so it is called first.
void OpenStandardStreams(char** argv);

// Returns the name of the program that a path denotes: "/usr/bin/canopy-mpirun"
// gives "mpirun".
std::string ProgramName(std::string_view path);
// Returns true if a program of that name acts as `canopy run`.
bool IsRunName(std::string_view program);

// Returns true for "--version" and its synonyms.
bool IsVersionWord(std::string_view word);
// Prints the version and returns the exit code of the process.
int PrintVersion();

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_BASE_STARTUP_H_
