// All commands except `run`, which has its own header.
#ifndef CANOPY_CLIENT_CLI_COMMANDS_COMMANDS_H_
#define CANOPY_CLIENT_CLI_COMMANDS_COMMANDS_H_

#include "client/cli/base/command.h"

namespace canopy::cli {

// Each function executes the command and returns the exit code of the process.
int UpCommand(const CommandLine& line);
int DownCommand(const CommandLine& line);
int PsCommand(const CommandLine& line);
int StatusCommand(const CommandLine& line);
int NodeCommand(const CommandLine& line);
int WhyCommand(const CommandLine& line);
int KillCommand(const CommandLine& line);
int SignalCommand(const CommandLine& line);
int LogsCommand(const CommandLine& line);
int DoctorCommand(const CommandLine& line);
int HostModuleCommand(const CommandLine& line);
int QueryCommand(const CommandLine& line);
int EventCommand(const CommandLine& line);
int TopCommand(const CommandLine& line);
int WaitCommand(const CommandLine& line);
int DebugCommand(const CommandLine& line);
int OutputCommand(const CommandLine& line);
int AttachCommand(const CommandLine& line);
int PublishCommand(const CommandLine& line);
int LookupCommand(const CommandLine& line);
int UnpublishCommand(const CommandLine& line);
int RelayCommand(const CommandLine& line);
int ConfigCommand(const CommandLine& line);
int StackCommand(const CommandLine& line);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_COMMANDS_COMMANDS_H_
