// The topology functions of the C interface, without their arguments' checks
// for a session. Results are PMIX statuses; without hwloc on the machine
// PMIX_ERR_NOT_SUPPORTED.
#ifndef CANOPY_CLIENT_TOPOLOGY_TOPOLOGY_OP_H_
#define CANOPY_CLIENT_TOPOLOGY_TOPOLOGY_OP_H_

#include <string>

#include "pmix.h"

namespace canopy::client {

// Gives the caller a topology of its own, which goes with
// PMIx_Topology_destruct or, at the latest, with the library.
// `topology->source` may name hwloc, and stays the caller's then.
int LoadTopology(pmix_topology_t* topology);
// Frees what the callers have not freed. At the end of the library.
void ReleaseTopologies();

// `cpuset` is overwritten.
int CurrentCpuset(pmix_cpuset_t* cpuset, pmix_bind_envelope_t envelope);
// "hwloc:0-3,8".
int ParseCpusetText(const char* text, pmix_cpuset_t* cpuset);
int GenerateCpusetText(const pmix_cpuset_t* cpuset, std::string* text);

int GenerateLocality(const pmix_cpuset_t* cpuset, std::string* locality);
int CompareLocality(const char* a, const char* b, pmix_locality_t* shared);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_TOPOLOGY_TOPOLOGY_OP_H_
