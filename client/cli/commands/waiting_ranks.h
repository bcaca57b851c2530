// The ranks for which operations wait, as agents name them in texts.
#ifndef CANOPY_CLIENT_CLI_COMMANDS_WAITING_RANKS_H_
#define CANOPY_CLIENT_CLI_COMMANDS_WAITING_RANKS_H_

#include <cstdint>
#include <optional>
#include <string>

namespace canopy::cli {

struct WaitingRank {
  std::string job;
  uint32_t rank = 0;
  std::string node;  // empty: unknown
};

// Parses "[JOB ]rank N[ on NODE]". Without JOB, the job is `job`. Returns no
// value for any other text.
std::optional<WaitingRank> ReadWaitingRank(const std::string& job,
                                           const std::string& text);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_COMMANDS_WAITING_RANKS_H_
