// Texts that people read: maps, trees, job lists, what waits.
#include <gtest/gtest.h>

#include "client/cli/job_names.h"
#include "client/cli/map_text.h"
#include "client/cli/status_text.h"
#include "client/cli/table.h"

namespace canopy::cli {
namespace {

namespace v1c = control::v1;

TEST(TableTest, ColumnsAlignByCharacters) {
  Table table({"A", "B"});
  table.Add({"\u2514\u2500 x", "1"});
  table.Add({"longer", ""});
  EXPECT_EQ(table.ToString("  "),
            "  A       B\n  \u2514\u2500 x    1\n  longer\n");
}

TEST(TableTest, CountsAndAges) {
  EXPECT_EQ(Count(1, "process"), "1 process");
  EXPECT_EQ(Count(2, "process"), "2 processes");
  EXPECT_EQ(Count(0, "node"), "0 nodes");
  EXPECT_EQ(AgeText(119), "119 s");
  EXPECT_EQ(AgeText(120), "2 min");
  EXPECT_EQ(AgeText(7200), "2 h");
  EXPECT_EQ(AgeText(200000), "2 d");
}

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

TEST(MapTextTest, NodesAndTheirRanks) {
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

TEST(MapTextTest, SeveralPrograms) {
  v1c::JobMapped mapped = Mapped();
  mapped.mutable_nodes(1)->mutable_procs(1)->set_app(1);
  EXPECT_NE(MapText(mapped).find("1 (program 1), 3 (program 2)"),
            std::string::npos)
      << MapText(mapped);
}

TEST(MapTextTest, Ranges) {
  const std::vector<uint32_t> ranks = {0, 1, 2, 5, 7, 8};
  EXPECT_EQ(RangesText(ranks), "0-2,5,7-8");
  EXPECT_EQ(RangesText({}), "");
}

TEST(StatusTextTest, DrawsTheTree) {
  v1c::StatusReply status;
  status.set_version("9");
  status.set_radix(2);
  for (const auto& [parent, up] : std::vector<std::pair<int, bool>>{
           {-1, true}, {0, true}, {0, true}, {1, true}, {-1, false}}) {
    auto* node = status.add_nodes();
    node->set_node(static_cast<uint32_t>(status.nodes_size() - 1));
    node->set_name("n" + std::to_string(status.nodes_size()));
    node->set_parent(parent);
    node->set_up(up);
    node->set_slots(1);
    if (!up) node->set_reason("silent");
  }
  EXPECT_EQ(StatusText("c", status, false),
            "context c: 4 nodes up, 1 lost, 4 slots, 0 jobs, radix 2, version "
            "9\n"
            "NODE      ADDRESS  SLOTS  PROCS  PID  UP FOR\n"
            "n1                 1      0      0    0 s\n"
            "|- n2              1      0      0    0 s\n"
            "|  `- n4           1      0      0    0 s\n"
            "`- n3              1      0      0    0 s\n"
            "lost: n5 (silent)\n");
}

TEST(StatusTextTest, AParentLoopEnds) {
  v1c::StatusReply status;
  for (uint32_t i = 0; i < 2; ++i) {
    auto* node = status.add_nodes();
    node->set_node(i);
    node->set_up(true);
    node->set_parent(i == 0 ? -1 : 1);
  }
  status.mutable_nodes(0)->set_node(1);
  EXPECT_FALSE(StatusText("c", status, false).empty());
}

TEST(StatusTextTest, WhatWaits) {
  v1c::WhyReply why;
  EXPECT_EQ(WhyText(why), "nothing is waited for\n");
  auto* waiting = why.add_waiting();
  waiting->set_nspace("job-1");
  waiting->set_operation("fence");
  waiting->set_age_ms(3250);
  waiting->add_missing("rank 3 on node2");
  EXPECT_EQ(WhyText(why),
            "job-1: fence has waited 3.2 s for:\n  rank 3 on node2\n");
}

TEST(JobNamesTest, ByWholeNameOrItsEnd) {
  const std::vector<std::string> names = {"c-aa-1", "c-aa-2", "c-bb-2"};
  EXPECT_EQ(*ChooseJob(names, "c-aa-2"), "c-aa-2");
  EXPECT_EQ(*ChooseJob(names, "1"), "c-aa-1");
  EXPECT_EQ(*ChooseJob(names, "bb-2"), "c-bb-2");
  EXPECT_EQ(ChooseJob(names, "2").code(), kErrBadParam);
  EXPECT_EQ(ChooseJob(names, "b-2").code(), kErrNotFound);
  EXPECT_EQ(ChooseJob({}, "").code(), kErrNotFound);
}

TEST(JobNamesTest, Signals) {
  for (const char* word : {"TERM", "SIGTERM", "sigterm", "15"}) {
    EXPECT_EQ(ParseSignal(word), 15) << word;
  }
  EXPECT_EQ(ParseSignal("USR1"), 10);
  for (const char* word : {"", "0", "65", "NOSUCH", "-9", "SIG"}) {
    EXPECT_FALSE(ParseSignal(word).has_value()) << word;
  }
}

}  // namespace
}  // namespace canopy::cli
