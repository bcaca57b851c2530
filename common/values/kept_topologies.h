// Topologies that the library has returned to callers, and which it frees when
// it is finalized. All calls may be made on any thread.
#ifndef CANOPY_COMMON_VALUES_KEPT_TOPOLOGIES_H_
#define CANOPY_COMMON_VALUES_KEPT_TOPOLOGIES_H_

#include <cstddef>
#include <vector>

#include "pmix_types.h"

namespace canopy {

// Registers `topology`, which belongs to the library from now on. If its source
// is not null, the source belongs to the library too and must be malloc memory.
void KeepTopology(const pmix_topology_t& topology);

// Removes `topology`, which the caller frees itself. Does nothing if it is not
// registered.
void ForgetTopology(const pmix_topology_t& topology);

// Removes all registered topologies and returns them. The caller frees them.
std::vector<pmix_topology_t> TakeKeptTopologies();

}  // namespace canopy

#endif  // CANOPY_COMMON_VALUES_KEPT_TOPOLOGIES_H_
