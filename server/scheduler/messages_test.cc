// Tests the conversion of requests, grants and records to messages.
#include "server/scheduler/messages.h"

#include <gtest/gtest.h>

#include <string>

#include "common/status.h"

namespace canopy::scheduler {
namespace {

namespace v1 = hostmodule::v1;

PlacementRequest Request() {
  PlacementRequest request;
  request.id = {"job", 1};
  request.job.apps.push_back({"", {"program"}, {}, "", 2});
  request.num_slots = 2;
  return request;
}

TEST(SchedulerMessages, ARequestContainsTheUsersHints) {
  PlacementRequest request = Request();
  request.job.name = "ocean";
  request.job.hints = {"long", "physics", JobPriority{-3}, {"a=1", "b=c=d"}};
  const v1::PlaceJobRequest message = ToMessage(request, "n1", 0, 0);
  EXPECT_EQ(message.hints().name(), "ocean");
  EXPECT_EQ(message.hints().queue(), "long");
  EXPECT_EQ(message.hints().account(), "physics");
  EXPECT_EQ(message.hints().priority(), -3);
  EXPECT_EQ(message.hints().others().at("a"), "1");
  EXPECT_EQ(message.hints().others().at("b"), "c=d");
  EXPECT_FALSE(ToMessage(Request(), "n1", 0, 0).hints().has_priority());
}

TEST(SchedulerMessages, TheHintsOfALaunchAreRead) {
  v1::LaunchJob launch;
  launch.set_request_id("batch 1");
  launch.mutable_granted()->set_host_job_id("1");
  launch.mutable_granted()->add_nodes()->set_name("n1");
  launch.mutable_granted()->mutable_nodes(0)->set_slots(1);
  launch.add_applications()->add_argv("program");
  v1::Hints& hints = *launch.mutable_hints();
  hints.set_name("ocean");
  hints.set_queue("long");
  hints.set_account("physics");
  hints.set_priority(-3);
  (*hints.mutable_others())["b"] = "c=d";
  (*hints.mutable_others())["a"] = "1";
  const auto read = FromMessage(launch);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->job.name, "ocean");
  EXPECT_EQ(read->job.hints.queue, "long");
  EXPECT_EQ(read->job.hints.account, "physics");
  EXPECT_EQ(read->job.hints.priority, JobPriority{-3});
  EXPECT_EQ(read->job.hints.others, (std::vector<std::string>{"a=1", "b=c=d"}));
  const auto refused = [&](const auto& change) {
    v1::LaunchJob wrong = launch;
    change(wrong.mutable_hints());
    return FromMessage(wrong).code();
  };
  EXPECT_EQ(refused([](auto* h) { h->set_name("a\nb"); }), kErrBadParam);
  EXPECT_EQ(refused([](auto* h) { h->set_queue(std::string(256, 'q')); }),
            kErrBadParam);
  EXPECT_EQ(refused([](auto* h) { (*h->mutable_others())["a=b"] = ""; }),
            kErrBadParam);
  EXPECT_EQ(refused([](auto* h) {
              (*h->mutable_others())["a"] = std::string(4096, 'x');
            }),
            kErrBadParam);
}

TEST(SchedulerMessages, ReportsAndRecordsContainHintsAndResources) {
  PlacedJob job;
  job.name = "ocean";
  job.hints.account = "physics";
  job.nodes = {{"n1", 2, 2, *CpuSet::Parse("0-1"), {"nvidia:0"}}};
  EXPECT_EQ(ReportOf(job, v1::JOB_STATE_RUNNING, 0).hints().account(),
            "physics");
  EXPECT_EQ(RecordOf(job, {}).hints().account(), "physics");
  EXPECT_EQ(RecordOf(job, {}).nodes(0).cpus(), "0-1");
  EXPECT_EQ(RecordOf(job, {}).nodes(0).gpus(0), "nvidia:0");
  EXPECT_EQ(RecordOf(job, {}).hints().name(), "ocean");
}

TEST(SchedulerMessages, ARequestStatesTheResourcesOfEachProcess) {
  PlacementRequest request = Request();
  request.job.places.memory_per_proc = uint64_t{1} << 33;
  request.job.places.cpu_list = "0-3";
  request.job.places.gpus_per_proc = 2;
  const v1::PlaceJobRequest message = ToMessage(request, "n1", 0, 0);
  EXPECT_EQ(message.applications(0).gpus_per_process(), 2u);
  EXPECT_EQ(message.applications(0).memory_bytes_per_process(),
            uint64_t{1} << 33);
  EXPECT_EQ(message.cpus(), "0-3");
}

v1::Granted Grant() {
  v1::Granted grant;
  grant.set_host_job_id("7");
  v1::GrantedNode* const node = grant.add_nodes();
  node->set_name("n1");
  node->set_slots(2);
  return grant;
}

TEST(SchedulerMessages, AGrantCanContainCpusGpusAndVariables) {
  v1::Granted message = Grant();
  v1::GrantedNode* const node = message.mutable_nodes(0);
  node->set_cpus("0-1,4");
  node->add_gpus("nvidia:1");
  node->add_env("CUDA_VISIBLE_DEVICES=1");
  const Result<PlacementGrant> grant = FromMessage(message);
  ASSERT_TRUE(grant.ok()) << grant.status().message();
  EXPECT_EQ(grant->nodes.at(0).cpus.ToString(), "0-1,4");
  EXPECT_EQ(grant->nodes[0].gpus, std::vector<std::string>{"nvidia:1"});
  EXPECT_EQ(grant->nodes[0].env,
            std::vector<std::string>{"CUDA_VISIBLE_DEVICES=1"});
}

TEST(SchedulerMessages, AGrantBeyondItsLimitsIsMalformed) {
  const auto problem = [](const v1::Granted& grant) {
    const Result<PlacementGrant> result = FromMessage(grant);
    EXPECT_EQ(result.code(), kErrUnpackFailure);
    return result.status().message();
  };
  v1::Granted cpus = Grant();
  cpus.mutable_nodes(0)->set_cpus("first");
  EXPECT_EQ(problem(cpus), "a grant of CPUs that are no list of numbers on n1");
  v1::Granted gpus = Grant();
  for (int i = 0; i < 1025; ++i) gpus.mutable_nodes(0)->add_gpus("nvidia:0");
  EXPECT_EQ(problem(gpus), "a grant of too many GPUs on n1");
  v1::Granted env = Grant();
  env.mutable_nodes(0)->add_env("no variable");
  EXPECT_EQ(problem(env),
            "a grant with a variable that is not NAME=VALUE on n1");
  v1::Granted slots = Grant();
  slots.mutable_nodes(0)->set_slots(5000);
  EXPECT_EQ(problem(slots),
            "a grant of 5000 slots, where 1 to 4096 are possible, on n1");
}

}  // namespace
}  // namespace canopy::scheduler
