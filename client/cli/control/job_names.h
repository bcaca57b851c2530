// Jobs and signals by the names that people type.
#ifndef CANOPY_CLIENT_CLI_CONTROL_JOB_NAMES_H_
#define CANOPY_CLIENT_CLI_CONTROL_JOB_NAMES_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/cli/control/control_client.h"
#include "common/status.h"

namespace canopy::cli {

// The job that `word` means: its whole name, or the end of it after a '-' if
// only one job ends so ("1", "3f2a-1"). kErrNotFound lists what there is.
Result<std::string> ChooseJob(std::span<const std::string> names,
                              const std::string& word);
Result<std::string> FindJob(ControlClient* client, const std::string& word);
Result<std::vector<std::string>> JobNames(ControlClient* client);

// "TERM", "SIGTERM", "15".
std::optional<int> ParseSignal(const std::string& word);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTROL_JOB_NAMES_H_
