// CPUs of a machine that processes of other jobs are bound to.
#ifndef CANOPY_HOSTMODULE_BOOKINGS_H_
#define CANOPY_HOSTMODULE_BOOKINGS_H_

#include <cstdint>
#include <vector>

#include "common/cpuset.h"
#include "common/topology.h"

namespace canopy::host {

// A process of another job.
struct BoundProc {
  CpuSet cpus;         // CPUs that the process may run on; not empty
  uint32_t cores = 1;  // number of these CPUs that are needed, at least 1
};

// Returns, for each object of `level`, the number of its CPUs that `procs`
// need. A process that may run on more cores than it needs, such as a process
// that is bound to a package, is counted on the objects on which the fewest
// CPUs are needed so far.
std::vector<uint32_t> BookedCpus(const Topology& topology, TopologyLevel level,
                                 const std::vector<BoundProc>& procs);

}  // namespace canopy::host

#endif  // CANOPY_HOSTMODULE_BOOKINGS_H_
