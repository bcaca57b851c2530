#include "server/core/job/part_streams.h"

#include <gtest/gtest.h>

#include <memory>

#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

// The streams of agent 1, with ranks 0 and 1 of a job that agent 0 controls.
// Ranks 2 and 3 are on agents 3 and 4 below it.
class PartStreamsTest : public testing::Test {
 protected:
  PartStreamsTest()
      : spec_(std::make_shared<JobSpec>(*JobOn("job", {1, 1, 3, 4}))) {
    Make(0);
  }

  void Make(uint32_t node) {
    local_ = std::make_unique<LocalRanks>(
        spec_, std::make_shared<JobLayout>(*spec_), node);
    streams_ = std::make_unique<PartStreams>(place_, *local_, true);
  }
  JobStep Step() { return {{1, out_}, 1, tree_}; }

  const std::shared_ptr<JobSpec> spec_;
  Tree tree_{7, 2};
  JobPlace place_{1, tree_, spec_, 0, {}};
  std::unique_ptr<LocalRanks> local_;
  std::unique_ptr<PartStreams> streams_;
  Actions out_;
};

TEST_F(PartStreamsTest, OutputIsSentToTheController) {
  streams_->SendOutput(Step(), {"job", 0, 2, Bytes("text"), 9});
  EXPECT_EQ(Sent<OutputData>(out_)[0].first, 0u);
  EXPECT_EQ(Sent<OutputData>(out_)[0].second.end, 9u);
  tree_.SetAlive(0, false);
  streams_->SendOutput(Step(), {"job", 0, 2, Bytes("text"), 13});
  EXPECT_EQ(All<CreditOutput>(out_)[0].bytes, 4u);
}

TEST_F(PartStreamsTest, OutputCreditIsIgnoredWithoutLocalRanks) {
  streams_->OnOutputCredit(Step(), {"job", 5, 5, true});
  EXPECT_EQ(All<CreditOutput>(out_).size(), 1u);
  EXPECT_EQ(All<ResendOutput>(out_).size(), 1u);
  Make(kNoNode);
  out_.clear();
  streams_->OnOutputCredit(Step(), {"job", 5, 5, true});
  EXPECT_TRUE(out_.empty());
}

TEST_F(PartStreamsTest, InputForAllIsForwardedToChildren) {
  streams_->OnInput(Step(), {"job", {}, Bytes("in"), 2});
  EXPECT_EQ(Sent<InputData>(out_).size(), 2u);
  EXPECT_EQ(All<FeedInput>(out_)[0].ranks, (std::vector<Rank>{0, 1}));
  out_.clear();
  streams_->OnInput(Step(), {"job", {3}, Bytes("in"), 4});
  EXPECT_TRUE(out_.empty());
}

TEST_F(PartStreamsTest, OnlyNodesThatConsumeInputRequestIt) {
  spec_->stdin_target = StdinTarget::kRank;
  spec_->stdin_rank = 1;
  streams_->RequestInput(Step());
  EXPECT_TRUE(out_.empty()) << "nothing runs yet";
  streams_->Start();
  streams_->RequestInput(Step());
  EXPECT_EQ(Sent<InputCredit>(out_).size(), 1u);
  out_.clear();
  spec_->stdin_rank = 2;
  streams_->RequestInput(Step());
  spec_->stdin_target = StdinTarget::kNone;
  streams_->RequestInput(Step());
  EXPECT_TRUE(out_.empty());
}

// A successor of the controller begins a new input run, whose positions count
// from 0.
TEST_F(PartStreamsTest, ANewInputRunFollowsTheEarlierInput) {
  spec_->stdin_target = StdinTarget::kAll;
  streams_->OnInput(Step(), {"job", {}, Bytes("in"), 2});
  out_.clear();
  streams_->OnInput(Step(), {"job", {}, Bytes("put"), 3, 7});
  ASSERT_EQ(All<FeedInput>(out_).size(), 1u);
  EXPECT_EQ(All<FeedInput>(out_)[0].end, 5u);
  ASSERT_EQ(All<PersistRecord>(out_).size(), 1u);
  const PersistRecord record = All<PersistRecord>(out_)[0];
  streams_->OnInputTaken(Step(), {"job", 4, 4});
  const auto credit = Sent<InputCredit>(out_);
  ASSERT_EQ(credit.size(), 1u);
  EXPECT_EQ(credit[0].second.bytes, 0u);
  EXPECT_EQ(credit[0].second.total, 2u);
  EXPECT_EQ(credit[0].second.run, 7u);
  // A successor of this agent knows where the input run began.
  Make(0);
  streams_->Recover({{record.key, record.value}});
  out_.clear();
  streams_->OnInputTaken(Step(), {"job", 0, 4, true, 5});
  EXPECT_EQ(Sent<InputCredit>(out_)[0].second.total, 2u);
  streams_->OnInput(Step(), {"job", {}, Bytes("s"), 4, 7});
  EXPECT_EQ(All<FeedInput>(out_)[0].end, 6u);
}

}  // namespace
}  // namespace canopy::core
