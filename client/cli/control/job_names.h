// Resolves the names of jobs and signals that users type.
#ifndef CANOPY_CLIENT_CLI_CONTROL_JOB_NAMES_H_
#define CANOPY_CLIENT_CLI_CONTROL_JOB_NAMES_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/cli/control/control_client.h"
#include "common/status.h"

namespace canopy::cli {

// Returns the job that `word` names: its full name, or the part of it after a
// '-' if that part is unique ("1", "3f2a-1"). Returns kErrNotFound with a list
// of the existing jobs, or kErrBadParam if `word` matches several.
Result<std::string> ChooseJob(std::span<const std::string> names,
                              const std::string& word);
// Like the function above, but `word` may also be the name that the user has
// given one of the jobs.
Result<std::string> ChooseJob(const control::v1::ListJobsReply& jobs,
                              const std::string& word);
// Returns the full names of the jobs.
std::vector<std::string> NamesOf(const control::v1::ListJobsReply& jobs);
Result<std::vector<std::string>> JobNames(ControlClient* client);

// Returns the number of the signal that `word` names: "TERM", "SIGTERM" and
// "15" are accepted. Returns no value for other words.
std::optional<int> ParseSignal(const std::string& word);
// Returns the name of a signal, such as "SIGTERM", or the number of a signal
// without a name.
std::string SignalName(int signal);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTROL_JOB_NAMES_H_
