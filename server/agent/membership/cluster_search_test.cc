#include "server/agent/membership/cluster_search.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "common/status.h"

namespace canopy::agent {
namespace {

using std::chrono::milliseconds;

// The agent of the node "me" at the address "b". `answers_` are the answers of
// the other agents, one for each round; afterwards no agent answers.
class ClusterSearchTest : public testing::Test {
 protected:
  ClusterSearchTest() { SetHosts({"a", "b", "c"}); }

  void SetHosts(const std::vector<std::string>& hosts) {
    nodes_.clear();
    for (const std::string& host : hosts) {
      nodes_.push_back({host, host, 7117, 7118});
    }
  }
  static control::v1::AddNodesReply Place(uint32_t number) {
    bootstrap::v1::Members members;
    for (const char* name : {"first", "me"}) {
      bootstrap::v1::NodeInfo* const node = members.add_nodes();
      node->set_name(name);
      node->set_address(std::string(name) + ".host:7117");
    }
    control::v1::AddNodesReply reply;
    reply.add_nodes()->set_node(number);
    reply.set_members(members.SerializeAsString());
    return reply;
  }
  Result<std::optional<ClusterPlace>> Run() {
    ClusterSearch::Parts parts;
    parts.nodes = [this]() -> Result<std::vector<ClusterNode>> {
      if (!failure_.ok()) return failure_;
      return nodes_;
    };
    parts.is_own = [](const std::string& host) { return host == "b"; };
    parts.ask = [this](const std::vector<ClusterNode>& others)
        -> Result<control::v1::AddNodesReply> {
      asked_ = others.size();
      if (round_ < answers_.size()) return answers_[round_];
      return Status(kErrNotFound, "nobody");
    };
    parts.wait = [this](milliseconds time) {
      waits_.push_back(time);
      ++round_;
      if (after_wait_) after_wait_(round_);
      return round_ < max_rounds_;
    };
    parts.log = [this](const std::string& reason) {
      logged_.push_back(reason);
    };
    return ClusterSearch("me", std::move(parts)).Run();
  }

  std::vector<ClusterNode> nodes_;
  Status failure_;
  std::vector<Result<control::v1::AddNodesReply>> answers_;
  std::function<void(size_t round)> after_wait_;
  size_t max_rounds_ = 8;
  size_t round_ = 0;
  size_t asked_ = 0;
  std::vector<milliseconds> waits_;
  std::vector<std::string> logged_;
};

TEST_F(ClusterSearchTest, AnAgentJoinsTheOverlayThatAnswers) {
  answers_ = {Place(1)};
  const auto place = Run();
  ASSERT_TRUE(place.ok() && place->has_value());
  EXPECT_EQ((*place)->self, 1u);
  ASSERT_EQ((*place)->nodes.size(), 2u);
  EXPECT_EQ((*place)->nodes[0].host, "first.host");
  EXPECT_EQ((*place)->nodes[1].name, "me");
  EXPECT_EQ((*place)->nodes[1].host, "b") << "its address is the new one";
  EXPECT_TRUE((*place)->members.has_value());
  EXPECT_EQ(asked_, 2u);
  EXPECT_TRUE(waits_.empty());
}

TEST_F(ClusterSearchTest, OnlyTheFirstAddressBeginsAnOverlay) {
  const auto place = Run();
  ASSERT_TRUE(place.ok());
  EXPECT_FALSE(place->has_value());
  EXPECT_EQ(logged_.size(), 1u) << "the same reason is reported once";
  EXPECT_NE(logged_[0].find("waiting for the agent at a"), std::string::npos);
  EXPECT_EQ(waits_[0], milliseconds(250));
  EXPECT_EQ(waits_.back(), milliseconds(10000));
}

TEST_F(ClusterSearchTest, TheListMustStayTheSameBeforeAnOverlayBegins) {
  SetHosts({"b"});
  after_wait_ = [this](size_t round) {
    if (round == 1) SetHosts({"b", "c"});
  };
  const auto place = Run();
  ASSERT_TRUE(place.ok() && place->has_value());
  EXPECT_EQ(waits_.size(), 2u);
  EXPECT_EQ(waits_[0], milliseconds(2000));
  EXPECT_EQ((*place)->self, 0u);
  ASSERT_EQ((*place)->nodes.size(), 1u);
  EXPECT_EQ((*place)->nodes[0].name, "me");
  EXPECT_EQ((*place)->nodes[0].host, "b");
  EXPECT_FALSE((*place)->members.has_value());
}

TEST_F(ClusterSearchTest, AnOverlayThatGivesNoPlaceIsNotLeftAlone) {
  SetHosts({"b", "c"});
  answers_ = {Status(kErrUnreach, "half of the nodes are lost"), Place(1)};
  const auto place = Run();
  ASSERT_TRUE(place.ok() && place->has_value());
  EXPECT_EQ((*place)->self, 1u);
  EXPECT_NE(logged_.at(0).find("half of the nodes"), std::string::npos);
}

TEST_F(ClusterSearchTest, ANameWithoutAddressesIsAskedAgain) {
  SetHosts({});
  after_wait_ = [this](size_t round) {
    if (round == 1) failure_ = Status(kErrUnreach, "no server");
    if (round == 2) {
      failure_ = Status();
      SetHosts({"b"});
    }
  };
  const auto place = Run();
  ASSERT_TRUE(place.ok() && place->has_value());
  EXPECT_NE(logged_.at(0).find("none of the 0 addresses"), std::string::npos);
  EXPECT_EQ(logged_.at(1), "no server");
}

TEST_F(ClusterSearchTest, AnInvalidAnswerIsAnError) {
  answers_ = {Place(7)};
  EXPECT_EQ(Run().code(), kErrUnpackFailure);
}

}  // namespace
}  // namespace canopy::agent
