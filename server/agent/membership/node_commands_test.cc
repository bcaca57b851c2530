#include "server/agent/membership/node_commands.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"

namespace canopy::agent {
namespace {

using Decision = control::v1::DecideNodesRequest;

// The root n1 and the nodes n2 and n3. A decision is applied at once.
class NodeCommandsTest : public testing::Test {
 protected:
  NodeCommandsTest() {
    config_.set_radix(2);
    config_.set_node_name("n1");
    config_.set_listen("10.0.0.1:4711");
    config_.set_cluster_key("key");
    for (const char* name : {"n1", "n2", "n3"}) config_.add_member_names(name);
    membership_ = std::make_unique<Membership>(config_);
    NodeCommands::Parts parts;
    parts.config = &config_;
    parts.membership = membership_.get();
    parts.jobs = [this]() -> const control::JobRecords& { return jobs_; };
    parts.decide = [this](const overlay::MemberRecord& record) {
      ++decisions_;
      membership_->Apply(record);
      return Status();
    };
    parts.known = [] { return "known"; };
    parts.now_ms = [] { return 1234; };
    parts.end_job = [this](const std::string& nspace, const std::string& reason,
                           uint32_t seconds) {
      ended_[nspace] = reason + ", " + std::to_string(seconds);
    };
    commands_ = std::make_unique<NodeCommands>(std::move(parts));
  }
  Result<control::v1::AddNodesReply> Add(const std::string& name,
                                         const std::string& address = "") {
    bootstrap::v1::NodeInfo info;
    info.set_name(name);
    info.set_address(address);
    info.set_slots(address.empty() ? 0 : 4);
    control::v1::AddNodesRequest request;
    request.add_nodes(info.SerializeAsString());
    return commands_->Add(request);
  }
  Decision Of(Decision::Decision decision, std::vector<std::string> nodes,
              bool force = false) {
    Decision request;
    request.set_decision(decision);
    for (const std::string& node : nodes) request.add_nodes(node);
    request.set_force(force);
    return request;
  }
  // Runs one process of a job on this node.
  void Run(const std::string& nspace, NodeId agent) {
    auto job = std::make_shared<JobSpec>();
    job->nspace = nspace;
    job->nodes.resize(1);
    job->nodes[0].agent = agent;
    job->procs.resize(1);
    jobs_[nspace].job = std::move(job);
  }

  bootstrap::v1::Config config_;
  std::unique_ptr<Membership> membership_;
  control::JobRecords jobs_;
  std::unique_ptr<NodeCommands> commands_;
  int decisions_ = 0;
  std::map<std::string, std::string> ended_;
};

TEST_F(NodeCommandsTest, ANewNodeGetsTheNextNumberAndTheSharedConfiguration) {
  const auto reply = Add("n4");
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->nodes(0).node(), 3u);
  EXPECT_TRUE(reply->nodes(0).is_new());
  EXPECT_FALSE(reply->nodes(0).up());
  bootstrap::v1::Config config;
  ASSERT_TRUE(config.ParseFromString(reply->config()));
  EXPECT_EQ(config.member_names_size(), 4);
  EXPECT_EQ(config.cluster_key(), "") << "the caller has it";
  EXPECT_EQ(config.listen(), "") << "each at its own address";
  EXPECT_EQ(config.node_name(), "");
  bootstrap::v1::Members members;
  ASSERT_TRUE(members.ParseFromString(reply->members()));
  EXPECT_EQ(members.nodes_size(), 4);
  EXPECT_EQ(members.known(), "known");
}

TEST_F(NodeCommandsTest, AddingANodeAgainChangesNothing) {
  ASSERT_TRUE(Add("n4").ok());
  const auto again = Add("n4");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->nodes(0).node(), 3u);
  EXPECT_FALSE(again->nodes(0).is_new());
  EXPECT_TRUE(Add("n2")->nodes(0).up());
  EXPECT_EQ(decisions_, 1);
}

TEST_F(NodeCommandsTest, ANodeDescribesItselfOnlyIfItIsAMember) {
  EXPECT_EQ(Add("n4", "host:1").code(), kErrNotFound);
  ASSERT_TRUE(Add("n4").ok());
  ASSERT_TRUE(Add("n4", "host:1").ok());
  EXPECT_EQ(membership_->info(3).slots(), 4u);
  EXPECT_EQ(membership_->info(3).address(), "host:1");
}

TEST_F(NodeCommandsTest, ALauncherAddsNodesToAgentsThatEndWithIt) {
  config_.set_embedded(true);
  bootstrap::v1::NodeInfo info;
  info.set_name("n4");
  control::v1::AddNodesRequest request;
  request.add_nodes(info.SerializeAsString());
  const auto reply = commands_->AddForLauncher(request);
  ASSERT_TRUE(reply.ok());
  EXPECT_TRUE(reply->nodes(0).is_new());
  commands_->Withdraw({3});
  EXPECT_TRUE(membership_->removed(3));
}

TEST_F(NodeCommandsTest, OnlyTheLeaderOfAMajorityDecides) {
  config_.set_embedded(true);
  EXPECT_EQ(Add("n4").code(), kErrNotSupported);
  config_.set_embedded(false);
  membership_->OnNodeStateChanged({1, false, "gone"});
  EXPECT_TRUE(Add("n4").ok());
  membership_->OnNodeStateChanged({2, false, "gone"});
  EXPECT_EQ(Add("n5").code(), kErrUnreach);
  config_.set_self(1);
  EXPECT_EQ(commands_->Decide(Of(Decision::DECISION_DRAIN, {"n3"})).code(),
            kErrUnreach);
}

TEST_F(NodeCommandsTest, AMalformedNameIsRefused) {
  EXPECT_EQ(Add("").code(), kErrBadParam);
  EXPECT_EQ(Add("a\nb").code(), kErrBadParam);
  EXPECT_EQ(Add(std::string(256, 'a')).code(), kErrBadParam);
  control::v1::AddNodesRequest request;
  request.add_nodes("\xff");
  EXPECT_EQ(commands_->Add(request).code(), kErrBadParam);
  EXPECT_EQ(decisions_, 0);
}

TEST_F(NodeCommandsTest, DrainAndResumeAreRecordedOnceWithTheReason) {
  Decision drain = Of(Decision::DECISION_DRAIN, {"n2"});
  drain.set_reason("new disk");
  ASSERT_TRUE(commands_->Decide(drain).ok());
  ASSERT_TRUE(commands_->Decide(drain).ok());
  EXPECT_EQ(decisions_, 1);
  EXPECT_EQ(membership_->WhyDrained(1), "new disk");
  EXPECT_EQ(membership_->RecordOf(1).since_ms, 1234u);
  ASSERT_TRUE(commands_->Decide(Of(Decision::DECISION_RESUME, {"n2"})).ok());
  EXPECT_EQ(membership_->WhyDrained(1), "");
  EXPECT_EQ(commands_->Drain("elsewhere", "x").code(), kErrNotFound);
}

TEST_F(NodeCommandsTest, NothingIsDecidedIfANodeIsUnknown) {
  EXPECT_EQ(
      commands_->Decide(Of(Decision::DECISION_DRAIN, {"n2", "nowhere"})).code(),
      kErrNotFound);
  EXPECT_EQ(
      commands_->Decide(Of(Decision::DECISION_UNSPECIFIED, {"n2"})).code(),
      kErrBadParam);
  EXPECT_EQ(decisions_, 0);
}

TEST_F(NodeCommandsTest, ADrainWithForceEndsTheJobsOfTheNodeAndNoOther) {
  Run("here", 1);
  Run("elsewhere", 2);
  Decision drain = Of(Decision::DECISION_DRAIN, {"n2"}, /*force=*/true);
  drain.set_grace_seconds(30);
  const auto reply = commands_->Decide(drain);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->ended_jobs_size(), 1);
  ASSERT_EQ(ended_.size(), 1u);
  EXPECT_EQ(ended_["here"], "its node is drained: by canopy node drain, 30");
}

TEST_F(NodeCommandsTest, ANodeInUseIsRemovedOnlyWithForce) {
  Run("job", 1);
  EXPECT_EQ(commands_->Decide(Of(Decision::DECISION_REMOVE, {"n2"})).code(),
            kErrResourceBusy);
  EXPECT_EQ(commands_->Decide(Of(Decision::DECISION_REMOVE, {"n1"})).code(),
            kErrResourceBusy)
      << "it controls the job";
  EXPECT_TRUE(commands_->Decide(Of(Decision::DECISION_REMOVE, {"n3"})).ok());
  EXPECT_TRUE(
      commands_->Decide(Of(Decision::DECISION_REMOVE, {"n2"}, true)).ok());
  EXPECT_TRUE(membership_->removed(1));
  EXPECT_EQ(membership_->Find("n2"), kNoNode);
  EXPECT_EQ(
      commands_->Decide(Of(Decision::DECISION_REMOVE, {"n1"}, true)).code(),
      kErrBadParam)
      << "the last one";
}

TEST_F(NodeCommandsTest, ANameOfARemovedNodeIsThatOfANewMember) {
  ASSERT_TRUE(commands_->Decide(Of(Decision::DECISION_REMOVE, {"n3"})).ok());
  const auto reply = Add("n3");
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->nodes(0).node(), 3u);
  EXPECT_TRUE(reply->nodes(0).is_new());
}

TEST_F(NodeCommandsTest, ADrainedRootLeadsNoLonger) {
  ASSERT_TRUE(
      commands_->Decide(Of(Decision::DECISION_DRAIN, {"n1", "n2"})).ok());
  EXPECT_TRUE(membership_->IsLeader(2));
  EXPECT_EQ(commands_->Decide(Of(Decision::DECISION_RESUME, {"n1"})).code(),
            kErrUnreach);
  config_.set_self(2);
  ASSERT_TRUE(commands_->Decide(Of(Decision::DECISION_RESUME, {"n2"})).ok());
  EXPECT_TRUE(membership_->IsLeader(1));
}

// n2 leads, and the job has its processes on n3.
TEST_F(NodeCommandsTest, ADrainedRootIsKeptByTheJobsThatItControls) {
  ASSERT_TRUE(commands_->Decide(Of(Decision::DECISION_DRAIN, {"n1"})).ok());
  config_.set_self(1);
  Run("job", 2);
  jobs_["job"].controller = 0;
  const auto status = membership_->Describe(jobs_);
  EXPECT_EQ(status.nodes(0).controls(0), "job");
  EXPECT_EQ(status.nodes(0).num_controlled(), 1u);
  EXPECT_FALSE(status.nodes(0).leader());
  EXPECT_TRUE(status.nodes(1).leader());
  const auto refused = commands_->Decide(Of(Decision::DECISION_REMOVE, {"n1"}));
  EXPECT_EQ(refused.code(), kErrResourceBusy);
  EXPECT_EQ(refused.status().message(),
            "n1 controls job; wait for them, or use --force");
  jobs_.clear();
  EXPECT_TRUE(commands_->Decide(Of(Decision::DECISION_REMOVE, {"n1"})).ok());
}

TEST_F(NodeCommandsTest, AJobOfAnotherControllerIsNotEndedByADrain) {
  ASSERT_TRUE(commands_->Decide(Of(Decision::DECISION_DRAIN, {"n1"})).ok());
  config_.set_self(1);
  Run("job", 2);
  jobs_["job"].controller = 0;
  EXPECT_EQ(
      commands_->Decide(Of(Decision::DECISION_DRAIN, {"n3"}, true)).code(),
      kErrResourceBusy);
  EXPECT_EQ(membership_->WhyDrained(2), "") << "nothing was decided";
  EXPECT_TRUE(ended_.empty());
}

}  // namespace
}  // namespace canopy::agent
