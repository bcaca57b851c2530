// Services of the host beyond those of agents. The host reports them in its
// answer to a query for PMIX_QUERY_SUPPORTED_KEYS alone, as PMIX_UINT64 with a
// bit for each service. If there is no scheduler, no bit is set.
#ifndef CANOPY_SERVER_CORE_STEP_HOST_SERVICES_H_
#define CANOPY_SERVER_CORE_STEP_HOST_SERVICES_H_

#include <cstdint>

namespace canopy::core {

inline constexpr uint64_t kHostPlacesJobs = 1;
inline constexpr uint64_t kHostAllocates = 2;
inline constexpr uint64_t kHostAnswersQueries = 4;

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_HOST_SERVICES_H_
