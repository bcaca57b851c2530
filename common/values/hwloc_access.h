// The few hwloc calls that values need. The library is opened when the first
// cpuset or topology needs it, so programs without either never load it.
#ifndef CANOPY_COMMON_VALUES_HWLOC_ACCESS_H_
#define CANOPY_COMMON_VALUES_HWLOC_ACCESS_H_

#include <optional>
#include <string>

#include "pmix_types.h"

namespace canopy {

// Make deep copies. `to` may be uninitialised and is empty after an error. Both
// return a PMIx status, such as kErrNotSupported if hwloc is absent or the
// object belongs to another library.
int CopyCpuset(pmix_cpuset_t* to, const pmix_cpuset_t& from);
int CopyTopology(pmix_topology_t* to, const pmix_topology_t& from);

// Free the content and set the object to zeros.
void DestructCpuset(pmix_cpuset_t* cpuset);
void DestructTopology(pmix_topology_t* topology);

// Returns the set in hwloc's list form ("0-3,8"). Returns no value if the
// object holds no set or hwloc is absent.
std::optional<std::string> CpusetText(const pmix_cpuset_t& cpuset);

// Returns the levels of the topology from the root, with the number of objects
// in each ("Machine 1, Package 2, Core 8, PU 16"). Returns no value if the
// object holds no topology or a topology of another library, or if hwloc is
// absent.
std::optional<std::string> TopologyText(const pmix_topology_t& topology);

// Sets `cpuset`, whose previous content is ignored, from the list form. Null
// text gives an empty cpuset. Returns kErrBadParam if the text is not a list,
// kErrNotSupported if hwloc is absent, and kErrNomem.
int ParseCpuset(pmix_cpuset_t* cpuset, const char* text);

}  // namespace canopy

#endif  // CANOPY_COMMON_VALUES_HWLOC_ACCESS_H_
