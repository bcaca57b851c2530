// Parses a call of PMIx_Process_monitor for statistics of resource usage.
#ifndef CANOPY_SERVER_MONITOR_USAGE_CALL_H_
#define CANOPY_SERVER_MONITOR_USAGE_CALL_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "common/status.h"
#include "common/values/info_list.h"
#include "pmix_types.h"
#include "server/core/step/usage.h"

namespace canopy::monitor {

// Limits for one call; larger calls are rejected (kErrOutOfResource). Each host
// name is searched among the names of all nodes at each sample.
inline constexpr size_t kMaxTargets = 1024;    // of each kind
inline constexpr size_t kMaxTargetHosts = 64;  // different names
inline constexpr size_t kMaxTargetJobs = 64;
inline constexpr size_t kMaxTargetName = 256;  // bytes of a name

struct UsageCall {
  core::UsageFields fields;
  core::UsageTargets targets;
};

// Returns true if the key requests statistics, e.g.
// PMIX_MONITOR_PROC_RESOURCE_USAGE.
bool IsOfUsage(std::string_view key);

// Parses a call. `what` names the kind of statistics and lists the requested
// ones; without a list, all are requested. The list may also name disks and
// network interfaces, to which it then restricts the call. Returns kErrBadParam
// for a value of another type, kErrNotSupported if the kind or all of the
// listed statistics are unknown, and kErrOutOfResource for too many targets.
Result<UsageCall> ReadUsageCall(const pmix_info_t& what,
                                const InfoList& directives);

}  // namespace canopy::monitor

#endif  // CANOPY_SERVER_MONITOR_USAGE_CALL_H_
