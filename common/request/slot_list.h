// The CPUs of one rank in the notation of Open MPI's rankfiles.
#ifndef CANOPY_COMMON_REQUEST_SLOT_LIST_H_
#define CANOPY_COMMON_REQUEST_SLOT_LIST_H_

#include <optional>
#include <string_view>
#include <vector>

#include "common/cpuset.h"
#include "common/status.h"
#include "common/topology.h"

namespace canopy {

// Some cores of a package, or of the machine. All numbers count objects in the
// logical order of Topology, from 0.
struct SlotPart {
  std::optional<uint32_t> package;  // empty: cores count through the machine
  std::optional<CpuSet> cores;      // empty: all cores
};

// Parses parts that are separated by ';': "CORES" or "PACKAGE:CORES", where
// CORES is a list such as "0-2,5", or "*" for all. Returns kErrBadParam for
// malformed text.
Result<std::vector<SlotPart>> ParseSlotList(std::string_view text);

// Returns the CPUs of all parts. Returns kErrJobInsufficientResources if the
// machine has no such package or core, and kErrNotSupported if a package is
// named and the packages are not known.
Result<CpuSet> CpusOf(const std::vector<SlotPart>& parts,
                      const Topology& topology);

}  // namespace canopy

#endif  // CANOPY_COMMON_REQUEST_SLOT_LIST_H_
