// The topology functions of the C interface. The entry points check the
// arguments, and that there is a session. Results are PMIx statuses, such as
// PMIX_ERR_NOT_SUPPORTED if hwloc is absent.
#ifndef CANOPY_CLIENT_TOPOLOGY_TOPOLOGY_OP_H_
#define CANOPY_CLIENT_TOPOLOGY_TOPOLOGY_OP_H_

#include <string>

#include "pmix.h"

namespace canopy::client {

// Gives the caller a topology of its own, which PMIx_Topology_destruct or, at
// the latest, ReleaseTopologies frees. `topology->source` may name hwloc; it
// then remains the caller's.
int LoadTopology(pmix_topology_t* topology);
// Frees the topologies that callers have not freed. Called after the session
// has ended.
void ReleaseTopologies();

// Overwrites `cpuset`.
int CurrentCpuset(pmix_cpuset_t* cpuset, pmix_bind_envelope_t envelope);
// Parses "hwloc:0-3,8", for example.
int ParseCpusetText(const char* text, pmix_cpuset_t* cpuset);
int GenerateCpusetText(const pmix_cpuset_t* cpuset, std::string* text);

// Makes the string of PMIX_LOCALITY_STRING for these processors.
int GenerateLocality(const pmix_cpuset_t* cpuset, std::string* locality);
// Compares two locality strings: sets the bits PMIX_LOCALITY_* of the levels
// that both share.
int CompareLocality(const char* a, const char* b, pmix_locality_t* shared);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_TOPOLOGY_TOPOLOGY_OP_H_
