// Follows the logs of several agents, until they end or the user interrupts.
#ifndef CANOPY_CLIENT_CLI_COMMANDS_LOG_FOLLOW_H_
#define CANOPY_CLIENT_CLI_COMMANDS_LOG_FOLLOW_H_

#include <functional>
#include <string>
#include <vector>

namespace canopy::cli {

// A command that prints the log of a node, and continues with what is added.
struct LogSource {
  std::string node;
  std::vector<std::string> command;
};

struct FollowOptions {
  bool json = false;   // each line is a document on one line
  bool named = false;  // each line begins with the name of its node
  // Returns true if the agents have ended. Called while no lines come.
  std::function<bool()> ended;
};

// Prints the lines of all sources as they come. Returns the exit code: 0 when
// the user interrupts or the agents have ended, else that of a failure. No
// other thread may run.
int FollowLogs(const std::vector<LogSource>& sources,
               const FollowOptions& options);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_COMMANDS_LOG_FOLLOW_H_
