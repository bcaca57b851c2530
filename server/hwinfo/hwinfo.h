// The hardware of this machine.
#ifndef CANOPY_SERVER_HWINFO_HWINFO_H_
#define CANOPY_SERVER_HWINFO_HWINFO_H_

#include <string>

#include "common/status.h"
#include "common/topology.h"

namespace canopy::hwinfo {

// Returns the machine's topology, restricted to the CPUs that this process was
// allowed to use at the first call. The topology is read once per process, in a
// few milliseconds; thread-safe. If libhwloc is missing, every CPU is its own
// core.
const Topology& ThisMachine();

// Returns a machine described in hwloc's notation, e.g. "pack:2 core:4 pu:2".
// kErrNotFound: libhwloc is missing; kErrBadParam: the description is
// malformed.
Result<Topology> FromDescription(const std::string& description);

// Returns the machine that hwloc's XML describes. Errors are those of
// FromDescription.
Result<Topology> FromXml(const std::string& xml);

// Returns this machine as hwloc's XML, for libraries that load it themselves.
// kErrNotFound: libhwloc is missing; kErrServerFailedRequest: hwloc cannot
// describe the machine.
Result<std::string> ThisMachineAsXml();

// Returns the memory of this machine in bytes; 0 if unknown.
uint64_t MemoryBytes();

}  // namespace canopy::hwinfo

#endif  // CANOPY_SERVER_HWINFO_HWINFO_H_
