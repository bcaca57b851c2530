// Topologies that the library has handed out and frees at its end.
#ifndef CANOPY_COMMON_VALUES_KEPT_TOPOLOGIES_H_
#define CANOPY_COMMON_VALUES_KEPT_TOPOLOGIES_H_

#include <cstddef>
#include <vector>

#include "pmix_types.h"

namespace canopy {

// `topology` belongs to the library from now on. Its source too when it is not
// null: text by malloc. Any thread.
void KeepTopology(const pmix_topology_t& topology);

// A caller frees it before that: no effect where it is not kept. Any thread.
void ForgetTopology(const pmix_topology_t& topology);

// All that are kept, for whoever frees them; nothing is kept then. Any thread.
std::vector<pmix_topology_t> TakeKeptTopologies();

}  // namespace canopy

#endif  // CANOPY_COMMON_VALUES_KEPT_TOPOLOGIES_H_
