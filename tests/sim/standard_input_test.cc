#include "tests/sim/standard_input.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/job.h"
#include "server/core/step/control_inputs.h"
#include "server/core/step/process_inputs.h"

namespace canopy::sim {
namespace {

// A job of one rank that takes input.
class StandardInputTest : public testing::Test {
 protected:
  StandardInputTest() {
    JobSpec job = MakeJob("job", std::vector<NodeId>{0});
    job.stdin_target = StdinTarget::kRank;
    jobs_.Add(job);
    input_.Open("job", 0);
  }
  template <typename T>
  std::vector<T> Take() {
    std::vector<T> out;
    while (std::optional<Event> event = queue_.Take()) {
      if (auto* callback = std::get_if<Callback>(&*event)) (*callback)();
      auto* input = std::get_if<LocalInput>(&*event);
      if (input == nullptr) continue;
      if (T* in = std::get_if<T>(&input->input)) out.push_back(std::move(*in));
    }
    return out;
  }
  void Feed(uint64_t begin, uint64_t end) {
    core::FeedInput a{"job", {0}, Bytes(InputText(begin, end)), end};
    input_.On(0, a);
  }

  Settings settings_{true};
  Errors errors_;
  Random random_{1, settings_.options};
  EventQueue queue_;
  JobCatalog jobs_;
  Oracle oracle_{[this](const std::string& e) { errors_.push_back(e); }};
  Membership members_{1, 2, queue_, random_};
  AgentInputs inputs_{queue_, members_};
  StandardInput input_{1, settings_, jobs_, queue_, inputs_, random_, oracle_};
};

TEST_F(StandardInputTest, ALauncherOffersUnconsumedInputAgain) {
  input_.Offer("job", 100);
  ASSERT_EQ(Take<core::InputOffered>().size(), 2u);
  core::InputConsumed consumed{"job", 64};
  input_.On(0, consumed);
  EXPECT_EQ(input_.retained("job"), 36u);
  input_.LoseAgent(0);
  input_.Offer("job", 10);
  EXPECT_TRUE(Take<core::InputOffered>().empty()) << "it is detached";
  EXPECT_EQ(input_.BeginOf("job"), 64u);
  input_.OfferAgain("job");
  const auto again = Take<core::InputOffered>();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].position, 64u);
  EXPECT_EQ(again[0].data.view(), InputText(64, 110));
}

TEST_F(StandardInputTest, AShimForwardsEachByteOnce) {
  input_.Offer("job", 30);
  Feed(0, 10);
  Feed(0, 10);
  Feed(20, 30);
  Feed(5, 20);
  const auto done = Take<core::LocalInputDone>();
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done.back().total, 20u) << "what left a gap was dropped";
  EXPECT_TRUE(errors_.empty()) << errors_.front();
}

TEST_F(StandardInputTest, TheOracleDetectsWrongBytesAndAnEarlyEnd) {
  input_.Offer("job", 30);
  core::FeedInput wrong{"job", {0}, Bytes(InputText(1, 11)), 10};
  input_.On(0, wrong);
  EXPECT_EQ(errors_.size(), 1u);
  core::FeedInput end{"job", {0}, {}, 10};
  input_.On(0, end);
  EXPECT_EQ(errors_.size(), 2u);
}

}  // namespace
}  // namespace canopy::sim
