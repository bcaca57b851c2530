#include "server/hwinfo/hwinfo.h"

#include <gtest/gtest.h>

#include "common/gpu.h"

namespace canopy::hwinfo {
namespace {

using Level = TopologyLevel;

TEST(Hwinfo, ADescriptionGivesAllLevelsAndTheSignature) {
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

TEST(Hwinfo, EachNumaDomainHasItsShareOfTheCpus) {
  Result<Topology> t = FromDescription("pack:2 numa:2 core:2 pu:1");
  ASSERT_TRUE(t.ok());
  EXPECT_EQ(t->Count(Level::kNuma), 4u);
  EXPECT_EQ(t->at(Level::kNuma)[1].ToString(), "2-3");
}

TEST(Hwinfo, EachCpuIsACoreIfTheMachineHasNoCores) {
  Result<Topology> t = FromDescription("pack:1 pu:4");
  ASSERT_TRUE(t.ok());
  EXPECT_EQ(t->Count(Level::kCore), 4u);
}

TEST(Hwinfo, MalformedDescriptionsAreRejected) {
  EXPECT_EQ(FromDescription("pack:x").code(), kErrBadParam);
  EXPECT_EQ(FromXml("<nonsense>").code(), kErrBadParam);
}

TEST(Hwinfo, ThisMachineHasOnlyTheCpusThatItsProcessMayUse) {
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

TEST(Hwinfo, GpusAreFoundOnTheBus) {
  const Result<Topology> t = FromXml(R"(<?xml version="1.0"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
 <object type="Machine" os_index="0" cpuset="0x3" complete_cpuset="0x3"
  allowed_cpuset="0x3" nodeset="0x1" complete_nodeset="0x1"
  allowed_nodeset="0x1" gp_index="1">
  <object type="NUMANode" os_index="0" cpuset="0x3" complete_cpuset="0x3"
   nodeset="0x1" complete_nodeset="0x1" gp_index="2" local_memory="1024"/>
  <object type="PU" os_index="0" cpuset="0x1" complete_cpuset="0x1"
   nodeset="0x1" complete_nodeset="0x1" gp_index="3"/>
  <object type="PU" os_index="1" cpuset="0x2" complete_cpuset="0x2"
   nodeset="0x1" complete_nodeset="0x1" gp_index="4"/>
  <object type="Bridge" gp_index="5" bridge_type="0-1" depth="0"
   bridge_pci="0000:[10-11]">
   <object type="PCIDev" gp_index="6" pci_busid="0000:11:00.0"
    pci_type="0302 [10de:20b0] [10de:144e] a1" pci_link_speed="0.0"/>
   <object type="PCIDev" gp_index="7" pci_busid="0000:10:00.0"
    pci_type="0300 [1a03:2000] [1a03:2000] 41" pci_link_speed="0.0"/>
  </object>
 </object>
</topology>)");
  ASSERT_TRUE(t.ok()) << t.status().message();
  ASSERT_EQ(t->gpus.size(), 1u);
  EXPECT_EQ(GpuName(t->gpus[0]), "nvidia:0");
  EXPECT_EQ(t->gpus[0].cpus.ToString(), "0-1");
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
