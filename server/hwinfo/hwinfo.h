// What the hardware of this machine looks like.
#ifndef CANOPY_SERVER_HWINFO_HWINFO_H_
#define CANOPY_SERVER_HWINFO_HWINFO_H_

#include <string>

#include "common/status.h"
#include "common/topology.h"

namespace canopy::hwinfo {

// The machine's topology, cut down to the CPUs that this process was allowed
// to use when it was first asked for. Taken once per process (a few
// milliseconds); any thread. Without libhwloc every CPU is its own core.
const Topology& ThisMachine();

// A machine described in hwloc's notation, e.g. "pack:2 core:4 pu:2".
// kErrNotFound without libhwloc, kErrBadParam when it is malformed.
Result<Topology> FromDescription(const std::string& description);

// From hwloc's XML. Errors as above.
Result<Topology> FromXml(const std::string& xml);

// This machine as hwloc's XML, for libraries that want to load it themselves.
// kErrNotFound without libhwloc.
Result<std::string> ThisMachineAsXml();

// Memory of this machine in bytes; 0 when the system does not say.
uint64_t MemoryBytes();

}  // namespace canopy::hwinfo

#endif  // CANOPY_SERVER_HWINFO_HWINFO_H_
