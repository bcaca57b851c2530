#include "common/topology.h"

#include <algorithm>

#include "common/describe.h"

namespace canopy {
namespace {

// The objects of one level, each as the text of its CPU set
// (CpuSet::ToString).
struct Level {
  std::vector<std::string> objects;
};

template <typename V>
void Describe(V& v, wire::Is<Level> auto& m) {
  v.Field(1, m.objects);
}

struct EncodedGpu {
  GpuKind kind = GpuKind::kNvidia;
  std::string id;
  std::string cpus;
};

template <typename V>
void Describe(V& v, wire::Is<EncodedGpu> auto& m) {
  v.Choice(1, m.kind, GpuKind::kAmd);
  v.Field(2, m.id);
  v.Field(3, m.cpus);
}

struct EncodedTopology {
  std::vector<Level> levels;
  std::string cpus;
  uint64_t memory_bytes = 0;
  std::string signature;
  std::vector<EncodedGpu> gpus;
};

template <typename V>
void Describe(V& v, wire::Is<EncodedTopology> auto& m) {
  v.Field(1, m.levels);
  v.Field(2, m.cpus);
  v.Field(3, m.memory_bytes);
  v.Field(4, m.signature);
  v.Field(5, m.gpus);
}

bool ReadSet(const std::string& text, CpuSet* out) {
  Result<CpuSet> set = CpuSet::Parse(text);
  if (set.ok()) *out = *std::move(set);
  return set.ok();
}

struct LevelNames {
  TopologyLevel level;
  std::string_view name;       // for people and options
  std::string_view signature;  // in a signature
  std::string_view locality;   // in a locality string
  uint16_t locality_bit;       // PMIX_LOCALITY_SHARE_*
};

// The levels, in the order in which a locality string has them.
constexpr LevelNames kLevels[] = {
    {TopologyLevel::kNuma, "numa", "N", "NM", 0x40},
    {TopologyLevel::kPackage, "package", "S", "SK", 0x20},
    {TopologyLevel::kL3, "l3cache", "L3", "L3", 0x10},
    {TopologyLevel::kL2, "l2cache", "L2", "L2", 0x08},
    {TopologyLevel::kL1, "l1cache", "L1", "L1", 0x04},
    {TopologyLevel::kCore, "core", "C", "CR", 0x02},
    {TopologyLevel::kHwthread, "hwthread", "H", "HT", 0x01},
};
constexpr uint16_t kShareNode = 0x4000;

// Returns the indices of the objects that a CPU set touches.
CpuSet Touched(const std::vector<CpuSet>& objects, const CpuSet& cpus) {
  CpuSet touched;
  for (uint32_t i = 0; i < objects.size(); ++i) {
    if (objects[i].Intersects(cpus)) touched.Add(i);
  }
  return touched;
}

// Returns the part of a locality string for one level. The set is empty if
// there is no such part.
CpuSet PartOf(std::string_view locality, std::string_view prefix) {
  while (!locality.empty()) {
    const size_t colon = locality.find(':');
    const std::string_view part = locality.substr(0, colon);
    locality.remove_prefix(colon == locality.npos ? locality.size()
                                                  : colon + 1);
    if (!part.starts_with(prefix)) continue;
    Result<CpuSet> set = CpuSet::Parse(part.substr(prefix.size()));
    if (set.ok()) return *set;
  }
  return {};
}

}  // namespace

std::string_view ToString(TopologyLevel level) {
  for (const LevelNames& names : kLevels) {
    if (names.level == level) return names.name;
  }
  return "";
}

Topology FlatTopology(const CpuSet& cpus) {
  Topology topology;
  topology.cpus = cpus;
  if (!cpus.empty()) topology.at(TopologyLevel::kPackage) = {cpus};
  for (const uint32_t cpu : cpus.ToVector()) {
    CpuSet one;
    one.Add(cpu);
    topology.at(TopologyLevel::kCore).push_back(one);
    topology.at(TopologyLevel::kHwthread).push_back(one);
  }
  topology.signature = TopologySignature(topology);
  return topology;
}

Topology Restrict(const Topology& topology, const CpuSet& cpus) {
  Topology out = topology;
  out.cpus &= cpus;
  for (std::vector<CpuSet>& objects : out.levels) {
    for (CpuSet& object : objects) object &= cpus;
    std::erase_if(objects, [](const CpuSet& object) { return object.empty(); });
  }
  out.signature = TopologySignature(out);
  return out;
}

std::string TopologySignature(const Topology& topology) {
  std::string out;
  for (const LevelNames& names : kLevels) {
    if (!out.empty()) out += ':';
    out += std::to_string(topology.Count(names.level));
    out += names.signature;
  }
  return out;
}

std::string EncodeTopology(const Topology& topology) {
  EncodedTopology encoded;
  for (const std::vector<CpuSet>& objects : topology.levels) {
    Level& level = encoded.levels.emplace_back();
    for (const CpuSet& object : objects) {
      level.objects.push_back(object.ToString());
    }
  }
  encoded.cpus = topology.cpus.ToString();
  encoded.memory_bytes = topology.memory_bytes;
  encoded.signature = topology.signature;
  for (const Gpu& gpu : topology.gpus) {
    encoded.gpus.push_back({gpu.kind, gpu.id, gpu.cpus.ToString()});
  }
  return wire::Encode(encoded);
}

Result<Topology> DecodeTopology(std::string_view bytes) {
  EncodedTopology encoded;
  Topology topology;
  bool ok = wire::Decode(bytes, &encoded) &&
            encoded.levels.size() == topology.levels.size() &&
            ReadSet(encoded.cpus, &topology.cpus);
  for (size_t i = 0; ok && i < encoded.levels.size(); ++i) {
    for (const std::string& object : encoded.levels[i].objects) {
      CpuSet& set = topology.levels[i].emplace_back();
      ok = ok && ReadSet(object, &set) && !set.empty();
    }
  }
  for (EncodedGpu& gpu : encoded.gpus) {
    Gpu& out = topology.gpus.emplace_back();
    out.kind = gpu.kind;
    out.id = std::move(gpu.id);
    ok = ok && ReadSet(gpu.cpus, &out.cpus);
  }
  if (!ok) return Status(kErrUnpackFailure, "malformed topology");
  topology.memory_bytes = encoded.memory_bytes;
  topology.signature = std::move(encoded.signature);
  return topology;
}

std::string LocalityString(const Topology& topology, const CpuSet& cpus) {
  std::string out;
  for (const LevelNames& names : kLevels) {
    const CpuSet touched = Touched(topology.at(names.level), cpus);
    if (touched.empty()) continue;
    if (!out.empty()) out += ':';
    out += names.locality;
    out += touched.ToString();
  }
  return out;
}

uint16_t RelativeLocality(std::string_view a, std::string_view b) {
  uint16_t shared = kShareNode;
  for (const LevelNames& names : kLevels) {
    if (PartOf(a, names.locality).Intersects(PartOf(b, names.locality))) {
      shared |= names.locality_bit;
    }
  }
  return shared;
}

}  // namespace canopy
