#include "client/cli/commands/documents.h"

#include <gtest/gtest.h>

#include "client/cli/history/process_mark.h"

namespace canopy::cli {
namespace {

TEST(DocumentsTest, UnknownMembersOfAnEndedJobAreNull) {
  HistoryEntry entry;
  entry.job = "canopy-1-2";
  entry.nodes = "node1,node2";
  entry.requested_ms = 1000;
  entry.launcher = MarkOfThisProcess();
  Json json = EndedJson(entry);
  EXPECT_TRUE(json["exit_code"].is_null());
  EXPECT_TRUE(json["ended_ms"].is_null());
  EXPECT_TRUE(json["reason"].is_null());
  EXPECT_EQ(json["nodes"].dump(), R"(["node1","node2"])");
  entry.ended_ms = 2000;
  entry.exit_code = 3;
  json = EndedJson(entry);
  EXPECT_EQ(json["exit_code"], 3);
  EXPECT_EQ(json["lost"], false);
}

TEST(DocumentsTest, NodesNameTheirParentAndTheirState) {
  control::v1::StatusReply status;
  for (const bool away : {false, true}) {
    auto* node = status.add_nodes();
    node->set_node(static_cast<uint32_t>(status.nodes_size() - 1));
    node->set_name(away ? "n2" : "n1");
    node->set_parent(away ? 0 : -1);
    node->set_up(true);
    node->set_away(away);
  }
  Json json = StatusDocument("c", status);
  EXPECT_TRUE(json["nodes"][0]["parent"].is_null());
  EXPECT_EQ(json["nodes"][1]["parent"], "n1");
  EXPECT_EQ(json["nodes"][1]["state"], "no answer");
  EXPECT_TRUE(json["scheduler"].is_null());
  EXPECT_EQ(json["slow_turns"], 0);
  status.set_slow_turns(7);
  status.set_max_jobs_per_user(8);
  status.set_max_procs_per_user(9);
  status.set_scheduler("unix:/s");
  status.set_scheduler_trouble("no");
  json = StatusDocument("c", status);
  EXPECT_EQ(json["scheduler"]["answers"], false);
  EXPECT_EQ(json["slow_turns"], 7);
  EXPECT_EQ(json["limits"]["jobs_per_user"], 8);
  EXPECT_EQ(json["limits"]["processes_per_user"], 9);
}

}  // namespace
}  // namespace canopy::cli
