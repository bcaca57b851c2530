#include "server/control/start_watch.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/core/step/control_inputs.h"
#include "server/ports/input_sink_testing.h"

namespace canopy::control {
namespace {

class StartWatchTest : public testing::Test {
 protected:
  StartWatchTest() {
    states_.set_sink(&sink_);
    job_.nspace = "job-1";
    for (const NodeId agent : {0u, 1u}) {
      JobNode node;
      node.agent = agent;
      node.name = agent == 0 ? "n1" : "n2";
      job_.nodes.push_back(node);
    }
  }

  // Returns the number of the next request to the agents.
  uint64_t Asked() {
    for (;;) {
      const auto asked = sink_.Take<core::StateRequested>();
      if (!asked.empty()) return asked.back().request;
      loop_.RunOnce(-1);
    }
  }
  void Answer(uint64_t request, const std::vector<NodeId>& nodes) {
    for (const NodeId node : nodes) {
      states_.OnCollected({request, node, {}, false});
    }
    states_.OnCollected({request, kNoNode, {}, true});
  }

  EventLoop loop_;
  RecordingSink sink_;
  StateCollector states_;
  JobSpec job_;
  std::vector<std::string> lines_;
  StartWatch watch_{&loop_, &states_,
                    [this](const std::string&, const std::string& line) {
                      lines_.push_back(line);
                    },
                    /*patience_ns=*/1};
};

TEST_F(StartWatchTest, AgentsThatDoNotAnswerAreNamed) {
  watch_.Begin(job_);
  Answer(Asked(), {0});
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_TRUE(lines_[0].starts_with("no answer from the agent of n2: "))
      << lines_[0];
}

TEST_F(StartWatchTest, TheAgentsAreQueriedAgainIfAllHaveAnswered) {
  watch_.Begin(job_);
  Answer(Asked(), {0, 1});
  EXPECT_TRUE(lines_.empty());
  Answer(Asked(), {1});
  EXPECT_EQ(lines_.size(), 1u);
}

TEST_F(StartWatchTest, AJobThatHasStartedIsNotWatched) {
  watch_.Begin(job_);
  const uint64_t request = Asked();
  watch_.End(job_.nspace);
  Answer(request, {});
  EXPECT_TRUE(lines_.empty());
}

}  // namespace
}  // namespace canopy::control
