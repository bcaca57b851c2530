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
// '-' if that is unique ("1", "3f2a-1"). kErrNotFound lists the existing jobs.
Result<std::string> ChooseJob(std::span<const std::string> names,
                              const std::string& word);
Result<std::string> FindJob(ControlClient* client, const std::string& word);
Result<std::vector<std::string>> JobNames(ControlClient* client);

// Accepts "TERM", "SIGTERM" and "15".
std::optional<int> ParseSignal(const std::string& word);
// Returns "SIGTERM", or the number of a signal without a name.
std::string SignalName(int signal);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTROL_JOB_NAMES_H_
