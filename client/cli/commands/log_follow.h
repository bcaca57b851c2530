// Follows the logs of several agents, until they end or the user interrupts.
#ifndef CANOPY_CLIENT_CLI_COMMANDS_LOG_FOLLOW_H_
#define CANOPY_CLIENT_CLI_COMMANDS_LOG_FOLLOW_H_

#include <functional>
#include <string>
#include <vector>

namespace canopy::cli {

// A command that prints the log of a node and continues with the lines that are
// added.
struct LogSource {
  std::string node;
  std::vector<std::string> command;
};

struct FollowOptions {
  bool json = false;   // each line is a document on one line
  bool named = false;  // each line begins with the name of its node
  // Returns true if the agents have ended. Called while no lines arrive.
  std::function<bool()> ended;
};

// Prints the lines of all sources as they arrive. Returns the exit code: 0 if
// the user interrupts or the agents have ended, else the exit code of a
// failure. Called while no other thread runs.
int FollowLogs(const std::vector<LogSource>& sources,
               const FollowOptions& options);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_COMMANDS_LOG_FOLLOW_H_
