// The processors of one machine, as far as the placement of processes and their
// locality need them. server/hwinfo makes the description, and each agent sends
// it.
#ifndef CANOPY_COMMON_TOPOLOGY_H_
#define CANOPY_COMMON_TOPOLOGY_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/cpuset.h"
#include "common/gpu.h"
#include "common/status.h"

namespace canopy {

// Levels from the coarsest to the finest.
enum class TopologyLevel : uint8_t {
  kPackage,
  kNuma,
  kL3,
  kL2,
  kL1,
  kCore,
  kHwthread,
};
inline constexpr size_t kNumTopologyLevels = 7;

// Returns "package", "numa", "l3cache", ..., "hwthread".
std::string_view ToString(TopologyLevel level);

// A plain value. The objects of a level are disjoint, not empty and in
// "logical" order, in which they are counted. A level that the machine does not
// have is empty. There is a hardware thread and a core for every usable CPU.
struct Topology {
  std::array<std::vector<CpuSet>, kNumTopologyLevels> levels;
  CpuSet cpus;  // CPUs that processes may use
  uint64_t memory_bytes = 0;
  std::string signature;  // equal for machines of the same shape
  std::vector<Gpu> gpus;

  const std::vector<CpuSet>& at(TopologyLevel level) const {
    return levels[static_cast<size_t>(level)];
  }
  std::vector<CpuSet>& at(TopologyLevel level) {
    return levels[static_cast<size_t>(level)];
  }
  uint32_t Count(TopologyLevel level) const {
    return static_cast<uint32_t>(at(level).size());
  }
};

// Returns a topology in which every CPU is a core of one package. It is used if
// nothing more is known.
Topology FlatTopology(const CpuSet& cpus);

// Returns the part of a topology that remains if processes may use only these
// CPUs.
Topology Restrict(const Topology& topology, const CpuSet& cpus);

// Returns a summary of the levels, such as "2N:2S:2L3:8L2:8L1:8C:16H".
std::string TopologySignature(const Topology& topology);

// Encode to and decode from a compact binary form. DecodeTopology bounds every
// count by the bytes left; an error is kErrUnpackFailure.
std::string EncodeTopology(const Topology& topology);
Result<Topology> DecodeTopology(std::string_view bytes);

// Returns the objects that a CPU set touches, level by level, in the text that
// MPI libraries parse: "NM0:SK0:L30:L20-1:L10-1:CR0-1:HT0-3". The text is empty
// for an empty set and for a set outside the topology.
std::string LocalityString(const Topology& topology, const CpuSet& cpus);

// Returns the PMIx locality bits (PMIX_LOCALITY_SHARE_*) of two processes on
// one node from their locality strings, with or without a "source:" in front.
// An empty string stands for a process that is not bound: only the node bit is
// known.
uint16_t RelativeLocality(std::string_view a, std::string_view b);

}  // namespace canopy

#endif  // CANOPY_COMMON_TOPOLOGY_H_
