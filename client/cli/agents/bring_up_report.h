// The report of a launcher about the agents that it starts: which agents have
// answered, which have not, and what the user can do.
#ifndef CANOPY_CLIENT_CLI_AGENTS_BRING_UP_REPORT_H_
#define CANOPY_CLIENT_CLI_AGENTS_BRING_UP_REPORT_H_

#include <span>
#include <string>
#include <vector>

namespace canopy::cli {

// The state of one agent, as far as its launcher knows it.
struct AgentReport {
  enum class State {
    kSilent,    // has not answered
    kFailed,    // does not come up; `cause` is not empty
    kAnswered,  // runs, and waits for the other agents
    kUp,        // is connected with the other agents
  };
  std::string node;
  State state = State::kSilent;
  // The reason of a failure. In other states, the last line that the
  // remote-launch command wrote to its standard error; it may be empty.
  std::string cause;
  // The remote-launch command without the agent; empty for this machine.
  std::string remote_command;
  std::string program;  // path of the agent
};

// Returns up to ten names, separated by commas, and the number of the others.
std::string NodesText(std::span<const std::string> names);

// Returns one line: the nodes whose agents have failed or have not answered,
// grouped by cause, with advice, and the nodes that wait for them. If all have
// answered, the line has the nodes that are not connected with the others.
// `seconds` is the time since the start of the agents.
std::string BringUpError(std::span<const AgentReport> agents, int seconds);

// Returns the line of progress for a user who waits.
std::string BringUpProgress(std::span<const AgentReport> agents);

// Returns one line that names the agents without which the overlay continues,
// because they have failed or have not answered. `seconds` is as in
// BringUpError.
std::string MissingText(std::span<const AgentReport> agents, int seconds);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_AGENTS_BRING_UP_REPORT_H_
