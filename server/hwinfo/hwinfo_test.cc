#include "server/hwinfo/hwinfo.h"

#include <gtest/gtest.h>

namespace canopy::hwinfo {
namespace {

using Level = TopologyLevel;

TEST(Hwinfo, SyntheticMachine) {
  Result<Topology> t = FromDescription("pack:2 l3:1 l2:4 l1:1 core:1 pu:2");
  ASSERT_TRUE(t.ok()) << t.status().message();
  EXPECT_EQ(t->Count(Level::kPackage), 2u);
  EXPECT_EQ(t->Count(Level::kL3), 2u);
  EXPECT_EQ(t->Count(Level::kL2), 8u);
  EXPECT_EQ(t->Count(Level::kCore), 8u);
  EXPECT_EQ(t->Count(Level::kHwthread), 16u);
  EXPECT_EQ(t->at(Level::kPackage)[1].ToString(), "8-15");
  EXPECT_EQ(t->at(Level::kCore)[3].ToString(), "6-7");
  EXPECT_EQ(t->cpus.ToString(), "0-15");
  EXPECT_GT(t->memory_bytes, 0u);
  EXPECT_EQ(t->signature, "1N:2S:2L3:8L2:8L1:8C:16H");
}

TEST(Hwinfo, NumaDomainsHangBesideTheTree) {
  Result<Topology> t = FromDescription("pack:2 numa:2 core:2 pu:1");
  ASSERT_TRUE(t.ok());
  EXPECT_EQ(t->Count(Level::kNuma), 4u);
  EXPECT_EQ(t->at(Level::kNuma)[1].ToString(), "2-3");
}

TEST(Hwinfo, MachineWithoutCores) {
  Result<Topology> t = FromDescription("pack:1 pu:4");
  ASSERT_TRUE(t.ok());
  EXPECT_EQ(t->Count(Level::kCore), 4u);
}

TEST(Hwinfo, MalformedDescriptions) {
  EXPECT_EQ(FromDescription("pack:x").code(), kErrBadParam);
  EXPECT_EQ(FromXml("<nonsense>").code(), kErrBadParam);
}

TEST(Hwinfo, ThisMachineIsCutDownToWhatMayBeUsed) {
  const Topology& t = ThisMachine();
  EXPECT_EQ(t.cpus, CpuSet::OfThisProcess());
  EXPECT_EQ(t.Count(Level::kHwthread), t.cpus.Count());
  EXPECT_GE(t.Count(Level::kCore), 1u);
  EXPECT_GT(t.memory_bytes, uint64_t{1} << 20);
  EXPECT_EQ(&ThisMachine(), &t);  // read once
  for (const std::vector<CpuSet>& objects : t.levels) {
    for (const CpuSet& o : objects) EXPECT_TRUE(t.cpus.Contains(o));
  }
}

TEST(Hwinfo, XmlDescribesTheSameMachine) {
  Result<std::string> xml = ThisMachineAsXml();
  ASSERT_TRUE(xml.ok()) << xml.status().message();
  Result<Topology> t = FromXml(*xml);
  ASSERT_TRUE(t.ok()) << t.status().message();
  EXPECT_GE(t->cpus.Count(), ThisMachine().cpus.Count());
}

}  // namespace
}  // namespace canopy::hwinfo
