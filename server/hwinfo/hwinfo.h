// The hardware of this machine.
#ifndef CANOPY_SERVER_HWINFO_HWINFO_H_
#define CANOPY_SERVER_HWINFO_HWINFO_H_

#include <string>

#include "common/status.h"
#include "common/topology.h"

namespace canopy::hwinfo {

// Returns the machine's topology, restricted to the CPUs that this process was
// allowed to use at the first call. Read once per process (a few milliseconds);
// thread-safe. Without libhwloc every CPU is its own core.
const Topology& ThisMachine();

// Returns a machine described in hwloc's notation, e.g. "pack:2 core:4 pu:2".
// Returns kErrNotFound without libhwloc, and kErrBadParam if it is malformed.
Result<Topology> FromDescription(const std::string& description);

// Reads hwloc's XML. Errors as above.
Result<Topology> FromXml(const std::string& xml);

// Returns this machine as hwloc's XML, for libraries that load it themselves.
// Returns kErrNotFound without libhwloc.
Result<std::string> ThisMachineAsXml();

// Returns the memory of this machine in bytes; 0 if unknown.
uint64_t MemoryBytes();

}  // namespace canopy::hwinfo

#endif  // CANOPY_SERVER_HWINFO_HWINFO_H_
