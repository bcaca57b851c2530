// The topologies of a job's nodes for people.
#ifndef CANOPY_CLIENT_CLI_RUN_TOPOLOGY_TEXT_H_
#define CANOPY_CLIENT_CLI_RUN_TOPOLOGY_TEXT_H_

#include <string>
#include <vector>

#include "client/cli/base/json.h"
#include "common/topology.h"
#include "protos/control.pb.h"

namespace canopy::cli {

// Machines with more CPUs than this have no picture, because the line would not
// be readable.
inline constexpr uint32_t kMaxPictureCpus = 64;

// Returns the map's topologies in its order. A topology that cannot be decoded
// is empty.
std::vector<Topology> TopologiesOf(const control::v1::JobMapped& mapped);

// Returns packages, NUMA nodes and cores of each distinct topology, with their
// CPUs, and the names of the first nodes that have it.
std::string TopologyText(const control::v1::JobMapped& mapped);
// Returns the topologies as JSON, with the names of all nodes.
Json TopologiesJson(const control::v1::JobMapped& mapped);

// Returns the CPUs of a machine as mpirun draws them, such as "[BB/..][../..]":
// brackets for each package, a slash between cores, and for each hardware
// thread a B if it is in `cpus`, else a dot. Returns an empty text for a
// machine that is unknown or has more than kMaxPictureCpus CPUs.
std::string BindingPicture(const Topology& topology, const CpuSet& cpus);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_TOPOLOGY_TEXT_H_
