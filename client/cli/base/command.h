// Definitions that all commands share: the command line, exit codes and error
// messages.
#ifndef CANOPY_CLIENT_CLI_BASE_COMMAND_H_
#define CANOPY_CLIENT_CLI_BASE_COMMAND_H_

#include <span>
#include <string>
#include <string_view>

#include "common/status.h"

namespace canopy::cli {

inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitNotExecutable = 126;
inline constexpr int kExitNotFound = 127;
inline constexpr int kExitSignal = 128;  // plus the signal's number

struct CommandLine {
  std::string program;                // as called: "canopy", "mpirun", ...
  std::span<const std::string> args;  // after the command's name
};

// Prints "canopy: MESSAGE" on standard error, on one line.
void PrintError(const std::string& message);
// Writes the text to standard output and returns `exit_code`. If the write
// fails, returns kExitFailure, and prints the reason unless the reader has
// closed the output.
int PrintText(std::string_view text, int exit_code = 0);
// Prints the status and returns the exit code for it.
int Fail(const Status& status);
// Like Fail, for an error in a command line. If the command line was not
// understood, the message also names the help command.
int FailUsage(const std::string& command, const Status& status);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_BASE_COMMAND_H_
