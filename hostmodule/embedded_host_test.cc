#include "hostmodule/embedded_host.h"

#include <gtest/gtest.h>

#include <set>

namespace canopy::host {
namespace {

class FakeSink : public InputSink {
 public:
  void OnInput(core::Input input) override {
    inputs.push_back(std::move(input));
  }
  std::vector<core::Input> inputs;
};

class EmbeddedHostTest : public testing::Test {
 protected:
  EmbeddedHostTest() : host_(&sink_, 0, "0123abcd") {
    std::vector<MapNode> nodes;
    for (NodeId agent = 0; agent < 2; ++agent) {
      MapNode node;
      node.name = "n" + std::to_string(agent);
      node.agent = agent;
      node.slots = 2;
      nodes.push_back(node);
    }
    host_.SetNodes(std::move(nodes));
  }

  static MapRequest Request(uint32_t procs) {
    MapRequest request;
    request.apps.push_back({{"./a"}, {}, "", procs, {}});
    return request;
  }

  static core::JobChanged Change(const std::string& nspace,
                                 core::JobPhase phase, int status = 0) {
    core::JobChanged change;
    change.nspace = nspace;
    change.phase = phase;
    change.status = status;
    change.text = status == 0 ? "" : "no such program";
    return change;
  }

  FakeSink sink_;
  EmbeddedHost host_;
};

TEST_F(EmbeddedHostTest, JobsGetTheirOwnNames) {
  Result<std::shared_ptr<const JobSpec>> a = host_.Plan(Request(1));
  Result<std::shared_ptr<const JobSpec>> b = host_.Plan(Request(1));
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ((*a)->nspace, "canopy-0123abcd-1");
  EXPECT_EQ((*b)->nspace, "canopy-0123abcd-2");
  EXPECT_EQ((*a)->session_id, 1u);
  EXPECT_EQ((*b)->session_id, 2u);
}

TEST_F(EmbeddedHostTest, SlotsAreUsedWhileAJobLives) {
  Result<std::shared_ptr<const JobSpec>> a = host_.Plan(Request(3));
  ASSERT_TRUE(a.ok());
  EXPECT_EQ(host_.Plan(Request(2)).code(), kErrJobInsufficientResources);
  Result<std::shared_ptr<const JobSpec>> b = host_.Plan(Request(0));
  ASSERT_TRUE(b.ok());
  EXPECT_EQ((*b)->procs.size(), 1u);
  EXPECT_EQ((*b)->nodes[0].name, "n1");
  host_.OnJobChanged(Change((*a)->nspace, core::JobPhase::kEnded));
  EXPECT_TRUE(host_.Plan(Request(3)).ok());
}

TEST_F(EmbeddedHostTest, MapThatNobodyKeepsUsesNoSlots) {
  EXPECT_TRUE(host_.Plan(Request(4)).ok());
  EXPECT_TRUE(host_.Plan(Request(4)).ok());
}

TEST_F(EmbeddedHostTest, LostNodesAreLeftOut) {
  host_.SetNodeUp(0, false);
  Result<std::shared_ptr<const JobSpec>> job = host_.Plan(Request(0));
  ASSERT_TRUE(job.ok());
  ASSERT_EQ((*job)->nodes.size(), 1u);
  EXPECT_EQ((*job)->nodes[0].name, "n1");
  host_.SetNodeUp(0, true);
  job = Status(kError);
  EXPECT_EQ((*host_.Plan(Request(0)))->nodes.size(), 2u);
}

TEST_F(EmbeddedHostTest, SpawnIsAnsweredWhenTheJobRuns) {
  Result<std::shared_ptr<const JobSpec>> parent = host_.Plan(Request(1));
  ASSERT_TRUE(parent.ok());
  Status status(kError);
  std::string nspace;
  int calls = 0;
  const auto reply = [&](Status s, std::string n) {
    status = std::move(s);
    nspace = std::move(n);
    ++calls;
  };
  host_.Spawn({{(*parent)->nspace, 0}, 1000, 100}, Request(2), reply);
  ASSERT_EQ(sink_.inputs.size(), 1u);
  const auto& job = std::get<core::LaunchRequested>(sink_.inputs[0]).job;
  EXPECT_EQ(job->parent.nspace, (*parent)->nspace);
  EXPECT_EQ(job->uid, 1000u);
  EXPECT_EQ(job->session_id, (*parent)->session_id);
  host_.OnJobChanged(Change(job->nspace, core::JobPhase::kPreparing));
  EXPECT_EQ(calls, 0);
  host_.OnJobChanged(Change(job->nspace, core::JobPhase::kRunning));
  host_.OnJobChanged(Change(job->nspace, core::JobPhase::kRunning));
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(nspace, job->nspace);
}

TEST_F(EmbeddedHostTest, SpawnSaysWhyItFailed) {
  Status status;
  const auto reply = [&](Status s, std::string) { status = std::move(s); };
  host_.Spawn({{"p", 0}, 0, 0}, Request(9), reply);
  EXPECT_EQ(status.code(), kErrJobInsufficientResources);
  EXPECT_TRUE(sink_.inputs.empty());
  host_.Spawn({{"p", 0}, 0, 0}, Request(1), reply);
  host_.OnJobChanged(
      Change("canopy-0123abcd-1", core::JobPhase::kEnded, kErrJobExeNotFound));
  EXPECT_EQ(status.code(), kErrJobExeNotFound);
  EXPECT_EQ(status.message(), "no such program");
}

TEST_F(EmbeddedHostTest, AbortEndsWholeJobs) {
  Result<std::shared_ptr<const JobSpec>> job = host_.Plan(Request(1));
  ASSERT_TRUE(job.ok());
  const Requester who{{(*job)->nspace, 0}, 0, 0};
  Status status(kError);
  const auto reply = [&](Status s) { status = std::move(s); };
  host_.Abort(who, 3, "bad", {}, reply);
  EXPECT_TRUE(status.ok());
  ASSERT_EQ(sink_.inputs.size(), 1u);
  const auto& kill = std::get<core::KillRequested>(sink_.inputs[0]);
  EXPECT_EQ(kill.nspace, (*job)->nspace);
  EXPECT_EQ(kill.reason, (*job)->nspace + ":0 called abort with status 3: bad");
  host_.Abort(who, 3, "", {{(*job)->nspace, 0}}, reply);
  EXPECT_EQ(status.code(), kErrNotSupported);
  host_.Abort(who, 3, "", {{"nobody", kRankWildcard}}, reply);
  EXPECT_EQ(status.code(), kErrNotFound);
  EXPECT_EQ(sink_.inputs.size(), 1u);
}

TEST_F(EmbeddedHostTest, WhatItDoesNotDoIsAnsweredAtOnce) {
  int code = 0;
  host_.Publish({}, Bytes(), [&](Status s) { code = s.code(); });
  EXPECT_EQ(code, kErrNotSupported);
  code = 0;
  host_.Query({}, Bytes(), [&](Status s, Bytes) { code = s.code(); });
  EXPECT_EQ(code, kErrNotSupported);
}

TEST(RandomTag, IsNewEachTime) {
  std::set<std::string> tags;
  for (int i = 0; i < 20; ++i) tags.insert(EmbeddedHost::RandomTag());
  EXPECT_GT(tags.size(), 18u);
  EXPECT_EQ(tags.begin()->size(), 8u);
}

}  // namespace
}  // namespace canopy::host
