// The documents of commands with -o json (docs/json.md). Their member names
// follow the command line, not the messages between programs.
#ifndef CANOPY_CLIENT_CLI_COMMANDS_DOCUMENTS_H_
#define CANOPY_CLIENT_CLI_COMMANDS_DOCUMENTS_H_

#include <span>
#include <string>

#include "client/cli/base/json.h"
#include "client/cli/context/context.pb.h"
#include "client/cli/history/history_store.h"
#include "protos/control.pb.h"

namespace canopy::cli {

// Prints a document on standard output. Returns `exit_code`, or kExitFailure if
// it cannot be written.
int PrintDocument(const Json& document, int exit_code = 0);

// Returns the document of an overlay that has come up.
Json ContextDocument(const v1::Context& context);
Json StatusDocument(const std::string& context,
                    const control::v1::StatusReply& status);
Json NodesDocument(const std::string& context,
                   const control::v1::StatusReply& status);

Json JobJson(const control::v1::JobStatus& job);
Json JobsJson(const control::v1::ListJobsReply& jobs);
Json UserUseJson(const std::string& context, const control::v1::UserUse& use);
// Returns the element for a job of the history.
Json EndedJson(const HistoryEntry& entry);
// Returns an array with the entries whose jobs no longer run.
Json EndedJobsJson(std::span<const HistoryEntry> entries);

Json WaitingJson(const control::v1::WhyReply& why);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_COMMANDS_DOCUMENTS_H_
