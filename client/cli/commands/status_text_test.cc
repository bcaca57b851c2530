#include "client/cli/commands/status_text.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace canopy::cli {
namespace {

namespace v1c = control::v1;

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

TEST(StatusTextTest, SilentAgentsDoNotCountAsUp) {
  v1c::StatusReply status;
  for (const bool away : {false, true}) {
    auto* node = status.add_nodes();
    node->set_node(static_cast<uint32_t>(status.nodes_size() - 1));
    node->set_name(away ? "n2" : "n1");
    node->set_parent(away ? 0 : -1);
    node->set_up(true);
    node->set_away(away);
  }
  const std::string text = StatusText("c", status, false);
  EXPECT_NE(text.find("1 node up, 1 without an answer, "), std::string::npos)
      << text;
  EXPECT_NE(text.find("no answer: n2; "), std::string::npos) << text;
  status.mutable_nodes(1)->set_away(false);
  EXPECT_EQ(SilentText(status), "");
}

TEST(StatusTextTest, ANeighbourThatDoesNotAnswerIsNamedWithTheTimeOfItsLoss) {
  v1c::StatusReply status;
  auto* const node = status.add_nodes();
  node->set_name("n1");
  node->set_up(true);
  node->set_lost_in_ms(2500);
  EXPECT_NE(SilentText(status).find("no answer: n1 (lost in 3 s); "),
            std::string::npos);
}

TEST(StatusTextTest, QueuedJobsAreCountedAmongTheJobs) {
  v1c::StatusReply status;
  status.set_jobs(1);
  EXPECT_NE(StatusText("c", status, false).find(", 1 job, "),
            std::string::npos);
  status.set_jobs(3);
  status.set_queued(2);
  EXPECT_NE(StatusText("c", status, false).find(", 3 jobs (2 queued), "),
            std::string::npos);
}

TEST(StatusTextTest, ALoopOfParentsIsPrintedOnlyOnce) {
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

TEST(StatusTextTest, TheColumnKindAppearsIfThereIsATool) {
  v1c::ListJobsReply jobs;
  jobs.add_jobs()->set_nspace("job-1");
  EXPECT_EQ(JobsText(jobs, false).find("KIND"), std::string::npos);
  jobs.add_jobs()->set_nspace("job-2");
  jobs.mutable_jobs(1)->set_tool(true);
  jobs.mutable_jobs(1)->set_parent("job-1");
  const std::string text = JobsText(jobs, false);
  EXPECT_NE(text.find("job-1  -       job "), std::string::npos) << text;
  EXPECT_NE(text.find("job-2  job-1   tool"), std::string::npos) << text;
}

TEST(StatusTextTest, ASchedulerThatDoesNotAnswerIsNamed) {
  v1c::StatusReply status;
  EXPECT_EQ(StatusText("c", status, false).find("scheduler"),
            std::string::npos);
  status.set_scheduler("unix:/s");
  EXPECT_NE(StatusText("c", status, false).find("scheduler: unix:/s\n"),
            std::string::npos);
  status.set_scheduler_trouble("the scheduler at unix:/s does not answer: no");
  EXPECT_NE(StatusText("c", status, false)
                .find("does not answer: no; new jobs wait for it\n"),
            std::string::npos);
}

}  // namespace
}  // namespace canopy::cli
