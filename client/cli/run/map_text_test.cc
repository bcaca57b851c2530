#include "client/cli/run/map_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/topology.h"

namespace canopy::cli {
namespace {

namespace v1c = control::v1;

v1c::JobMapped Mapped() {
  v1c::JobMapped mapped;
  mapped.set_nspace("job-1");
  mapped.set_num_procs(4);
  mapped.set_map_by("node");
  mapped.set_rank_by("slot");
  mapped.set_bind_to("core");
  for (uint32_t n = 0; n < 2; ++n) {
    auto* node = mapped.add_nodes();
    node->set_name("node" + std::to_string(n + 1));
    node->set_slots(2);
    for (uint32_t i = 0; i < 2; ++i) {
      auto* proc = node->add_procs();
      proc->set_rank(2 * i + n);
      proc->set_cpuset(i == 0 ? "0" : "");
    }
  }
  return mapped;
}

TEST(MapTextTest, ShowsNodesWithTheirRanks) {
  EXPECT_EQ(MapText(Mapped()),
            "job job-1: 4 processes on 2 nodes, mapped by node, ranked by "
            "slot, bound to core\n"
            "  NODE   SLOTS  PROCESSES  RANKS\n"
            "  node1  2      2          0,2\n"
            "  node2  2      2          1,3\n");
  EXPECT_EQ(AllocationText(Mapped()),
            "allocation of job job-1: 2 nodes, 4 slots\n"
            "  NODE   SLOTS\n"
            "  node1  2\n"
            "  node2  2\n");
  EXPECT_EQ(BindingsText(Mapped()),
            "rank 0 on node1 is bound to CPUs 0\n"
            "rank 1 on node2 is bound to CPUs 0\n"
            "rank 2 on node1 is not bound\n"
            "rank 3 on node2 is not bound\n");
}

TEST(MapTextTest, ABindingIsDrawnIfTheTopologyIsKnown) {
  v1c::JobMapped mapped = Mapped();
  mapped.add_topologies(EncodeTopology(FlatTopology(*CpuSet::Parse("0-1"))));
  mapped.mutable_nodes(0)->set_topology(1);
  mapped.mutable_nodes(1)->set_topology(7);
  mapped.mutable_nodes(0)->mutable_procs(0)->set_gpus("nvidia:0");
  EXPECT_EQ(BindingsText(mapped),
            "rank 0 on node1 is bound to CPUs 0: [B/.] and has GPUs nvidia:0\n"
            "rank 1 on node2 is bound to CPUs 0\n"
            "rank 2 on node1 is not bound\n"
            "rank 3 on node2 is not bound\n");
}

TEST(MapTextTest, NamesTheShortageAndTheReasonForMissingBinding) {
  v1c::JobMapped mapped = Mapped();
  mapped.set_oversubscribed(true);
  const auto policies = [&mapped] {
    const std::string text = MapText(mapped);
    return text.substr(0, text.find('\n')).substr(text.find("slot, ") + 6);
  };
  EXPECT_EQ(policies(), "bound to core, more processes than CPUs");
  mapped.set_bind_to("none");
  EXPECT_EQ(policies(), "not bound, more processes than CPUs");
  mapped.set_unbound_reason("the nodes share a machine");
  EXPECT_EQ(policies(),
            "not bound (the nodes share a machine), more processes than CPUs");
  mapped.set_unbound_reason("more processes than CPUs");
  EXPECT_EQ(policies(), "not bound (more processes than CPUs)");
  mapped.mutable_nodes(0)->set_slots(1);
  mapped.set_unbound_reason("more processes than slots");
  EXPECT_EQ(policies(), "not bound (more processes than slots)");
}

TEST(MapTextTest, NamesTheProgramOfEachRank) {
  v1c::JobMapped mapped = Mapped();
  mapped.mutable_nodes(1)->mutable_procs(1)->set_app(1);
  EXPECT_NE(MapText(mapped).find("1 (program 1), 3 (program 2)"),
            std::string::npos)
      << MapText(mapped);
}

TEST(MapTextTest, FormatsRanges) {
  const std::vector<uint32_t> ranks = {0, 1, 2, 5, 7, 8};
  EXPECT_EQ(RangesText(ranks), "0-2,5,7-8");
  EXPECT_EQ(RangesText({}), "");
}

}  // namespace
}  // namespace canopy::cli
