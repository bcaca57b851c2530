// Text for people about the state of an overlay and its jobs.
#ifndef CANOPY_CLIENT_CLI_COMMANDS_STATUS_TEXT_H_
#define CANOPY_CLIENT_CLI_COMMANDS_STATUS_TEXT_H_

#include <cstdint>
#include <string>

#include "protos/control.pb.h"

namespace canopy::cli {

// Returns "up", "no answer", "lost" or, before its agent was ever up,
// "joining".
const char* NodeState(const control::v1::NodeStatus& node);
// Returns the state of a node as `canopy node list` shows it, which includes
// "drained".
const char* NodeServiceState(const control::v1::NodeStatus& node);
// Returns the table of `canopy node list`.
std::string NodesText(const control::v1::StatusReply& status);

// Returns one row for each node, with the tree drawn in the first column (with
// line-drawing characters if `utf8`). Lost nodes come last, with the reason.
std::string StatusText(const std::string& context,
                       const control::v1::StatusReply& status, bool utf8);
// Returns one row for each job. With `contexts`, a column names the context of
// each job. `max_command` is the length to which commands are shortened.
std::string JobsText(const control::v1::ListJobsReply& jobs, bool contexts,
                     size_t max_command = SIZE_MAX);

// Returns one row for each user, with what the user's jobs use of the limits.
std::string UsersText(const control::v1::ListJobsReply& jobs);

// The length to which commands are shortened in tables on a terminal.
inline constexpr size_t kCommandOnTerminal = 60;
// Returns kCommandOnTerminal, or SIZE_MAX if standard output is not a terminal.
size_t CommandRoom();
// Returns the text with at most `limit` bytes and without control characters.
std::string Shortened(std::string text, size_t limit);
// Returns a line that names the agents that do not answer and are not lost yet,
// or an empty text if there is none. `status` is an answer with `ask_all`.
std::string SilentText(const control::v1::StatusReply& status);

// Returns the name of a user, or the number if the user has no name.
std::string UserName(uint32_t uid);

// Returns true if the locale of the environment can show UTF-8.
bool ShowsUtf8();

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_COMMANDS_STATUS_TEXT_H_
