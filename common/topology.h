// What the processors of one machine look like: as much as placing processes
// and telling their locality needs. Made by server/hwinfo, sent by each agent.
#ifndef CANOPY_COMMON_TOPOLOGY_H_
#define CANOPY_COMMON_TOPOLOGY_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/cpuset.h"
#include "common/status.h"

namespace canopy {

// From the coarsest to the finest.
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

// "package", "numa", "l3cache", ..., "hwthread".
std::string_view ToString(TopologyLevel level);

// A plain value. Objects of a level are disjoint, not empty and in the order in
// which they are counted ("logical" order); a level that the machine does not
// have is empty. There is a hardware thread and a core for every usable CPU.
struct Topology {
  std::array<std::vector<CpuSet>, kNumTopologyLevels> levels;
  CpuSet cpus;  // that processes may use
  uint64_t memory_bytes = 0;
  std::string signature;  // same text: same shape

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

// Every CPU its own core in one package: when nothing more is known.
Topology FlatTopology(const CpuSet& cpus);

// What is left of it when processes may use these CPUs alone.
Topology Restrict(const Topology& topology, const CpuSet& cpus);

// "2N:2S:2L3:8L2:8L1:8C:16H" of what the levels hold.
std::string TopologySignature(const Topology& topology);

// Compact binary form. Decode bounds every count by the bytes left;
// kErrUnpackFailure.
std::string EncodeTopology(const Topology& topology);
Result<Topology> DecodeTopology(std::string_view bytes);

// Which objects a CPU set touches, level by level, in the text that MPI
// libraries take apart: "NM0:SK0:L30:L20-1:L10-1:CR0-1:HT0-3". Empty for an
// empty set or one outside the topology.
std::string LocalityString(const Topology& topology, const CpuSet& cpus);

// PMIx locality bits (PMIX_LOCALITY_SHARE_*) of two processes on one node from
// their locality strings, with or without a "source:" before them. An empty
// string is a process that is not bound: nothing is known but the node.
uint16_t RelativeLocality(std::string_view a, std::string_view b);

}  // namespace canopy

#endif  // CANOPY_COMMON_TOPOLOGY_H_
