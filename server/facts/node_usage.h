// Statistics of this node, its disks and its network interfaces.
#ifndef CANOPY_SERVER_FACTS_NODE_USAGE_H_
#define CANOPY_SERVER_FACTS_NODE_USAGE_H_

#include <cstddef>
#include <string>

#include "server/core/step/usage.h"
#include "server/facts/proc_file.h"

namespace canopy::facts {

// The limit of disks, and of interfaces, that are reported; others are left
// out.
inline constexpr size_t kMaxDevices = 128;

// Returns the statistics in codec form (SIZE n, then n INFO): those of the node
// with PMIX_NODE_SAMPLE_TIME, then a PMIX_DISK_RESOURCE_USAGE for each disk and
// a PMIX_NETWORK_RESOURCE_USAGE for each interface. The first info of such a
// usage is the name of the disk or interface. Statistics that cannot be read
// are left out, and so are loop devices and RAM disks; without any the result
// is empty. `fields.proc` has no effect. Takes less than a millisecond.
// Thread-safe.
std::string NodeUsage(const core::UsageFields& fields,
                      const std::string& proc = kProc);

}  // namespace canopy::facts

#endif  // CANOPY_SERVER_FACTS_NODE_USAGE_H_
