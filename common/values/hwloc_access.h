// The few hwloc calls that values need. The library is opened when the first
// cpuset or topology needs it, so programs without one never load it.
#ifndef CANOPY_COMMON_VALUES_HWLOC_ACCESS_H_
#define CANOPY_COMMON_VALUES_HWLOC_ACCESS_H_

#include <optional>
#include <string>

#include "pmix_types.h"

namespace canopy {

// Deep copies; `to` may be uninitialised and is empty after an error. Return
// a PMIX status, kErrNotSupported where hwloc is absent or the object is
// another library's.
int CopyCpuset(pmix_cpuset_t* to, const pmix_cpuset_t& from);
int CopyTopology(pmix_topology_t* to, const pmix_topology_t& from);

// Frees content and makes all zeros.
void DestructCpuset(pmix_cpuset_t* cpuset);
void DestructTopology(pmix_topology_t* topology);

// The set in hwloc's list form ("0-3,8"), or nothing when it has no set or
// hwloc is absent.
std::optional<std::string> CpusetText(const pmix_cpuset_t& cpuset);

// Sets `cpuset` (contents ignored) from list form. Null text gives an empty
// cpuset. kErrBadParam for text that is no list.
int ParseCpuset(pmix_cpuset_t* cpuset, const char* text);

}  // namespace canopy

#endif  // CANOPY_COMMON_VALUES_HWLOC_ACCESS_H_
