// The process facts of local ranks: the values of the keys for which
// IsProcessFact (common/process_keys.h) returns true.
#ifndef CANOPY_SERVER_CORE_MODEX_PROCESS_FACTS_H_
#define CANOPY_SERVER_CORE_MODEX_PROCESS_FACTS_H_

#include <optional>
#include <string_view>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/job_table.h"

namespace canopy::core {

// Returns the status of a get of a process fact of a local rank: kSuccess,
// kErrNotFound, or no value while the process has not been started.
std::optional<int> DecideFact(const Job& job, Rank rank, std::string_view key);

// Returns the fact as a KVAL; empty unless DecideFact returns kSuccess.
Bytes FactOf(const Job& job, Rank rank, std::string_view key);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_MODEX_PROCESS_FACTS_H_
