// Text for people about the state of an overlay and its jobs.
#ifndef CANOPY_CLIENT_CLI_COMMANDS_STATUS_TEXT_H_
#define CANOPY_CLIENT_CLI_COMMANDS_STATUS_TEXT_H_

#include <string>

#include "protos/control.pb.h"

namespace canopy::cli {

// One row for each node, with the tree drawn in the first column (with
// line-drawing characters if `utf8`). Lost nodes come last, with the reason.
std::string StatusText(const std::string& context,
                       const control::v1::StatusReply& status, bool utf8);
// `contexts` adds a column with the context of each job.
std::string JobsText(const control::v1::ListJobsReply& jobs, bool contexts);
std::string WhyText(const control::v1::WhyReply& why);
// Where no operation waits: what else a user may be looking for. Returns a line
// for each job with running processes, and SilentText(status).
std::string RunningText(const control::v1::ListJobsReply& jobs,
                        const control::v1::StatusReply& status);
// Returns a line that names the agents that do not answer and are not lost yet,
// or an empty text. `status` is an answer with ask_all.
std::string SilentText(const control::v1::StatusReply& status);

// Returns true if the locale of the environment can show UTF-8.
bool ShowsUtf8();

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_COMMANDS_STATUS_TEXT_H_
