#include "client/cli/run/topology_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace canopy::cli {
namespace {

namespace v1c = control::v1;
using enum TopologyLevel;

CpuSet Cpus(const std::string& list) { return *CpuSet::Parse(list); }

// Two packages of two cores with two hardware threads.
Topology Machine() {
  Topology machine;
  machine.at(kPackage) = {Cpus("0-1,4-5"), Cpus("2-3,6-7")};
  machine.at(kNuma) = machine.at(kPackage);
  machine.at(kCore) = {Cpus("0,4"), Cpus("1,5"), Cpus("2,6"), Cpus("3,7")};
  for (uint32_t cpu = 0; cpu < 8; ++cpu) {
    machine.at(kHwthread).push_back(Cpus(std::to_string(cpu)));
  }
  machine.cpus = Cpus("0-7");
  machine.memory_bytes = uint64_t{3} << 30;
  return machine;
}

v1c::JobMapped Mapped() {
  v1c::JobMapped mapped;
  mapped.add_topologies(EncodeTopology(Machine()));
  mapped.add_topologies(EncodeTopology(FlatTopology(Cpus("0-1"))));
  for (const uint32_t topology : {1u, 2u, 1u, 0u}) {
    auto* const node = mapped.add_nodes();
    node->set_name("n" + std::to_string(mapped.nodes_size()));
    node->set_topology(topology);
  }
  return mapped;
}

TEST(TopologyTextTest, ShowsEachTopologyOnceWithItsNodes) {
  EXPECT_EQ(TopologyText(Mapped()),
            "topology of n1, n3: 2 packages, 2 NUMA nodes, 4 cores, 8 hardware "
            "threads, 3 GiB of memory\n"
            "  package 0: CPUs 0-1,4-5\n"
            "    NUMA node 0: CPUs 0-1,4-5\n"
            "      core 0: CPUs 0,4\n"
            "      core 1: CPUs 1,5\n"
            "  package 1: CPUs 2-3,6-7\n"
            "    NUMA node 1: CPUs 2-3,6-7\n"
            "      core 2: CPUs 2,6\n"
            "      core 3: CPUs 3,7\n"
            "topology of n2: 1 package, 0 NUMA nodes, 2 cores, 2 hardware "
            "threads\n"
            "  package 0: CPUs 0-1\n"
            "    core 0: CPUs 0\n"
            "    core 1: CPUs 1\n"
            "topology of n4: not available\n");
}

TEST(TopologyTextTest, JsonContainsTheCpusOfAllObjects) {
  const Json all = TopologiesJson(Mapped());
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0]["nodes"], Json({"n1", "n3"}));
  EXPECT_EQ(all[0]["cores"][3], "3,7");
  EXPECT_EQ(all[1]["packages"], Json::array({"0-1"}));
}

TEST(TopologyTextTest, APictureShowsTheBoundHardwareThreads) {
  EXPECT_EQ(BindingPicture(Machine(), Cpus("0,4,6")), "[BB/..][.B/..]");
  EXPECT_EQ(BindingPicture(FlatTopology(Cpus("0-3")), Cpus("1")), "[./B/./.]");
  EXPECT_EQ(BindingPicture(Topology(), Cpus("1")), "");
}

TEST(TopologyTextTest, ABindingOnALargeMachineIsNotDrawn) {
  EXPECT_NE(BindingPicture(FlatTopology(Cpus("0-63")), Cpus("1")), "");
  EXPECT_EQ(BindingPicture(FlatTopology(Cpus("0-64")), Cpus("1")), "");
}

TEST(TopologyTextTest, MalformedTopologiesAreEmpty) {
  v1c::JobMapped mapped;
  mapped.add_topologies("nonsense");
  mapped.add_nodes()->set_topology(1);
  EXPECT_NE(TopologyText(mapped).find("0 packages"), std::string::npos);
}

}  // namespace
}  // namespace canopy::cli
