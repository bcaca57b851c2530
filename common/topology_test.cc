#include "common/topology.h"

#include <gtest/gtest.h>

namespace canopy {
namespace {

CpuSet Set(std::string_view list) { return *CpuSet::Parse(list); }

// Returns two packages of two cores with two threads each. Each package is also
// a NUMA domain and has one L3 cache.
Topology Sample() {
  Topology t;
  t.cpus = Set("0-7");
  t.at(TopologyLevel::kPackage) = {Set("0-3"), Set("4-7")};
  t.at(TopologyLevel::kNuma) = t.at(TopologyLevel::kPackage);
  t.at(TopologyLevel::kL3) = t.at(TopologyLevel::kPackage);
  for (uint32_t core = 0; core < 4; ++core) {
    CpuSet set;
    set.AddRange(2 * core, 2 * core + 1);
    t.at(TopologyLevel::kCore).push_back(set);
  }
  t.at(TopologyLevel::kL2) = t.at(TopologyLevel::kCore);
  for (uint32_t cpu = 0; cpu < 8; ++cpu) {
    CpuSet set;
    set.Add(cpu);
    t.at(TopologyLevel::kHwthread).push_back(set);
  }
  t.memory_bytes = 1 << 30;
  t.signature = TopologySignature(t);
  return t;
}

TEST(Topology, TheSignatureCountsTheObjectsOfEachLevel) {
  EXPECT_EQ(Sample().signature, "2N:2S:2L3:4L2:0L1:4C:8H");
  EXPECT_EQ(FlatTopology(Set("0-2")).signature, "0N:1S:0L3:0L2:0L1:3C:3H");
}

TEST(Topology, RestrictLeavesOnlyTheGivenCpus) {
  CpuSet all;
  all.AddRange(0, 3);
  CpuSet some;
  some.AddRange(1, 2);
  const Topology restricted = Restrict(FlatTopology(all), some);
  EXPECT_EQ(restricted.cpus, some);
  EXPECT_EQ(restricted.Count(TopologyLevel::kCore), 2u);
  EXPECT_EQ(restricted.at(TopologyLevel::kPackage)[0], some);
}

TEST(Topology, SurvivesEncoding) {
  Topology in = Sample();
  in.gpus = {{GpuKind::kNvidia, "0", Set("0-1")}, {GpuKind::kAmd, "7", {}}};
  Result<Topology> out = DecodeTopology(EncodeTopology(in));
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->levels, in.levels);
  EXPECT_EQ(out->cpus, in.cpus);
  EXPECT_EQ(out->memory_bytes, in.memory_bytes);
  EXPECT_EQ(out->signature, in.signature);
  ASSERT_EQ(out->gpus.size(), 2u);
  EXPECT_EQ(GpuName(out->gpus[1]), "amd:7");
  EXPECT_EQ(out->gpus[0].cpus, in.gpus[0].cpus);
}

TEST(Topology, DecodingSurvivesDamagedForms) {
  const std::string good = EncodeTopology(Sample());
  for (size_t cut = 0; cut < good.size(); ++cut) {
    (void)DecodeTopology(good.substr(0, cut)).ok();
  }
  EXPECT_FALSE(DecodeTopology("").ok());
  EXPECT_FALSE(DecodeTopology(good.substr(0, good.size() - 1)).ok());
  EXPECT_FALSE(DecodeTopology(good + "x").ok());
  for (size_t at = 0; at < good.size(); ++at) {
    for (const char c : {'\0', '\x7f', '\xff'}) {
      std::string bad = good;
      bad[at] = c;
      (void)DecodeTopology(bad).ok();
    }
  }
}

TEST(Locality, ALocalityNamesTheTouchedObjects) {
  const Topology t = Sample();
  EXPECT_EQ(LocalityString(t, Set("0")), "NM0:SK0:L30:L20:CR0:HT0");
  EXPECT_EQ(LocalityString(t, Set("2-4")),
            "NM0-1:SK0-1:L30-1:L21-2:CR1-2:HT2-4");
  EXPECT_EQ(LocalityString(t, CpuSet()), "");
  EXPECT_EQ(LocalityString(t, Set("99")), "");
}

TEST(Locality, RelativeLocalityHasABitForEachSharedLevel) {
  const Topology t = Sample();
  const auto relative = [&](const char* a, const char* b) {
    return RelativeLocality(LocalityString(t, Set(a)),
                            LocalityString(t, Set(b)));
  };
  EXPECT_EQ(relative("0", "0"), 0x407b);    // all levels but L1
  EXPECT_EQ(relative("0", "1"), 0x407a);    // not the hardware thread
  EXPECT_EQ(relative("0", "2"), 0x4070);    // package, NUMA and L3
  EXPECT_EQ(relative("0", "4"), 0x4000);    // only the node
  EXPECT_EQ(relative("0-7", "4"), 0x407b);  // touches all levels
  EXPECT_EQ(relative("", "4"), 0x4000);
  EXPECT_EQ(RelativeLocality("hwloc:SK0:HT0", "hwloc:SK0:HT1"), 0x4020);
  EXPECT_EQ(RelativeLocality("SKx:HT0", "SKx:HT0"), 0x4001);
}

}  // namespace
}  // namespace canopy
