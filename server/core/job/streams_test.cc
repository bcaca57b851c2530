#include "server/core/job/streams.h"

#include <gtest/gtest.h>

#include <string>

#include "server/core/core_testing.h"
#include "server/core/job/output_tap.h"
#include "server/core/step/step_context.h"

namespace canopy::core {
namespace {

constexpr uint16_t kOut = 2;
constexpr uint16_t kErr = 4;

// The streams of a job with rank 0 at the controller, agent 0, and rank 1 at
// agent 1.
class StreamsTest : public testing::Test {
 protected:
  StreamsTest() : tree_(3, 2), table_(0) {
    spec_ = std::make_shared<JobSpec>(*JobOn("job", {0, 1}));
    spec_->stdin_target = StdinTarget::kAll;
    const Job* entry = table_.Add(spec_);
    part_ = std::make_unique<JobPart>(
        table_, *entry, JobPlace(0, tree_, entry->spec, 0, {}),
        JobPrepare{Bytes(EncodeJobSpec(*spec_)), 0, {}}, false);
    progress_ = std::make_unique<JobProgress>(spec_);
    streams_ = std::make_unique<JobStreams>(*part_, *progress_);
  }
  JobStep Step() { return {{now_, out_}, 0, tree_}; }
  bool Output(Rank rank, const std::string& text, uint64_t end) {
    return streams_->OnOutput(Step(), {"job", rank, kOut, Bytes(text), end});
  }
  bool Close(Rank rank, uint16_t channel) {
    return streams_->OnOutput(Step(), {"job", rank, channel, Bytes(), 0});
  }

  TimeNs now_ = 1;
  Tree tree_;
  JobTable table_;
  std::shared_ptr<JobSpec> spec_;
  std::unique_ptr<JobPart> part_;
  std::unique_ptr<JobProgress> progress_;
  std::unique_ptr<JobStreams> streams_;
  Actions out_;
};

TEST_F(StreamsTest, OutputIsDeliveredOnceAndInOrder) {
  EXPECT_FALSE(Output(1, "abc", 3));
  EXPECT_FALSE(Output(1, "bcd", 4));
  EXPECT_FALSE(Output(1, "x", 9));  // a gap
  EXPECT_FALSE(Output(99, "x", 1));
  const auto delivered = All<DeliverOutput>(out_);
  ASSERT_EQ(delivered.size(), 2u);
  EXPECT_EQ(delivered[1].data.view(), "d");
}

TEST_F(StreamsTest, CreditForConsumedOutputIsSentToItsNode) {
  Output(1, "abc", 3);
  EXPECT_FALSE(streams_->OnConsumed(Step(), {"job", 1, 3}));
  EXPECT_EQ(Sent<OutputCredit>(out_)[0].second.total, 3u);
  Output(0, "abc", 3);
  streams_->OnConsumed(Step(), {"job", 0, 3});
  EXPECT_EQ(All<CreditOutput>(out_)[0].total, 3u);
  // A duplicate shows that credit was lost.
  out_.clear();
  Output(1, "abc", 3);
  EXPECT_EQ(Sent<OutputCredit>(out_)[0].second.total, 3u);
  out_.clear();
  streams_->OnNodeRestarted(Step(), 1);
  EXPECT_EQ(Sent<OutputCredit>(out_).size(), 1u);
  streams_->OnNodeRestarted(Step(), 2);
  EXPECT_EQ(Sent<OutputCredit>(out_).size(), 1u);
}

// A tap that redirects the output of rank 1.
class Tap : public OutputTap {
 public:
  bool OnOutput(const StepContext& /*step*/,
                const TappedOutput& output) override {
    text += std::to_string(output.rank) + std::string(output.data.view()) +
            "@" + std::to_string(output.end) + " ";
    return output.rank == 1;
  }
  void OnInputTaken(const StepContext& /*step*/, const std::string& /*nspace*/,
                    uint64_t bytes) override {
    taken += bytes;
  }

  std::string text;
  uint64_t taken = 0;
};

TEST_F(StreamsTest, OutputThatTheTapRedirectsIsDeliveredWithoutContent) {
  Tap tap;
  JobStep step = Step();
  step.tap = &tap;
  streams_->OnOutput(step, {"job", 0, kOut, Bytes(std::string("abc")), 3});
  streams_->OnOutput(step, {"job", 1, kOut, Bytes(std::string("de")), 2});
  streams_->OnOutput(step, {"job", 1, kOut, Bytes(std::string("def")), 3});
  streams_->OnOutput(step, {"job", 1, kOut, Bytes(), 0});
  EXPECT_EQ(tap.text, "0abc@3 1de@2 1f@3 1@0 ");
  const auto delivered = All<DeliverOutput>(out_);
  ASSERT_EQ(delivered.size(), 4u);
  EXPECT_EQ(delivered[0].data.view(), "abc");
  EXPECT_EQ(delivered[0].redirected, 0u);
  EXPECT_TRUE(delivered[1].data.empty());
  EXPECT_EQ(delivered[1].redirected, 2u);
  EXPECT_EQ(delivered[2].redirected, 1u);
  EXPECT_EQ(delivered[3].redirected, 0u) << "the end is for both";
}

TEST_F(StreamsTest, AllDeliveredReturnsTrueWhenAllStreamsAreClosed) {
  for (const Rank rank : {0u, 1u}) {
    EXPECT_FALSE(streams_->AllDelivered(Step()));
    EXPECT_TRUE(Close(rank, kOut));
    EXPECT_FALSE(Close(rank, kOut));
    EXPECT_TRUE(Close(rank, kErr));
  }
  EXPECT_TRUE(streams_->AllDelivered(Step()));
}

TEST_F(StreamsTest, TheLaunchersAcknowledgementIsAwaited) {
  streams_->set_acknowledges(true);
  Output(1, "abc", 3);
  for (const Rank rank : {0u, 1u}) streams_->CloseAll(rank);
  EXPECT_FALSE(streams_->AllDelivered(Step()));
  EXPECT_FALSE(streams_->AllDelivered(Step()));
  EXPECT_EQ(All<OutputDelivered>(out_).size(), 1u);
  EXPECT_TRUE(streams_->OnConsumed(Step(), {"job", 1, 3}));
  EXPECT_TRUE(streams_->AllDelivered(Step()));
}

TEST_F(StreamsTest, OpenStreamsAreAwaitedForALimitedTime) {
  Output(1, "abc", 3);
  EXPECT_EQ(streams_->drain_deadline(), kNever);
  streams_->AllDelivered(Step());
  const TimeNs first = streams_->drain_deadline();
  ASSERT_NE(first, kNever);
  now_ = first;
  // The launcher has not consumed all output, so the deadline is moved.
  EXPECT_FALSE(streams_->OnDrainTimeout(Step()));
  EXPECT_GT(streams_->drain_deadline(), first);
  streams_->OnConsumed(Step(), {"job", 1, 3});
  EXPECT_TRUE(streams_->OnDrainTimeout(Step()));
}

TEST_F(StreamsTest, OutputIsHeldBackUntilTheLauncherReattaches) {
  streams_->AwaitLauncher(1);
  Output(1, "abc", 3);
  EXPECT_TRUE(out_.empty());
  streams_->OnLauncherReattached(Step(), {"job", std::vector<uint64_t>{0, 2}});
  const auto credit = Sent<OutputCredit>(out_);
  ASSERT_EQ(credit.size(), 1u);
  EXPECT_TRUE(credit[0].second.resend);
  EXPECT_EQ(credit[0].second.total, 2u);
  Output(1, "abc", 3);
  EXPECT_EQ(All<DeliverOutput>(out_)[0].data.view(), "c");
}

TEST_F(StreamsTest, OutputIsRequestedAgainUntilItComes) {
  streams_->AwaitLauncher(1);
  streams_->OnNodeLost(Step());
  EXPECT_TRUE(Sent<OutputCredit>(out_).empty()) << "no launcher is attached";
  streams_->OnLauncherReattached(Step(), {"job", std::vector<uint64_t>{0, 2}});
  out_.clear();
  streams_->OnNodeLost(Step());
  const auto credit = Sent<OutputCredit>(out_);
  ASSERT_EQ(credit.size(), 1u);
  EXPECT_TRUE(credit[0].second.resend);
  Output(1, "abc", 3);
  out_.clear();
  streams_->OnNodeLost(Step());
  EXPECT_TRUE(Sent<OutputCredit>(out_).empty());
}

TEST_F(StreamsTest, InputIsSentOnceAndResentOnRequest) {
  streams_->OfferInput({"job", Bytes("input"), 0});
  streams_->SendInput(Step());
  streams_->SendInput(Step());
  EXPECT_EQ(Sent<InputData>(out_).size(), 1u);
  streams_->OnInputTaken(Step(), 0, {"job", 5, 5, false});
  EXPECT_TRUE(All<InputConsumed>(out_).empty());
  streams_->OnInputTaken(Step(), 1, {"job", 2, 2, true});
  EXPECT_EQ(All<InputConsumed>(out_)[0].bytes, 2u);
  const auto sent = Sent<InputData>(out_);
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[1].second.data.view(), "input");
  EXPECT_EQ(sent[1].second.end, 5u);
  EXPECT_EQ(sent[1].second.ranks, std::vector<Rank>{1});
}

// Ranks that have received no input of the present input run report totals of
// an earlier one. These totals are ignored.
TEST_F(StreamsTest, ASuccessorBeginsANewRunOfPushedInput) {
  spec_->forwarding.input = true;
  Tap tap;
  JobStep step = Step();
  step.tap = &tap;
  streams_->AwaitLauncher(7);
  streams_->OfferInput({"job", Bytes("input")});
  streams_->SendInput(step);
  auto sent = Sent<InputData>(out_);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].second.run, 7u);
  EXPECT_EQ(sent[0].second.end, 5u);
  streams_->OnInputTaken(step, 0, {"job", 0, 5, false, 7});
  streams_->OnInputTaken(step, 1, {"job", 100, 100});
  EXPECT_EQ(tap.taken, 0u);
  streams_->OnInputTaken(step, 1, {"job", 0, 100, true});
  sent = Sent<InputData>(out_);
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[1].second.data.view(), "input");
  EXPECT_EQ(sent[1].second.run, 7u);
  streams_->OnInputTaken(step, 1, {"job", 0, 5, false, 7});
  EXPECT_EQ(tap.taken, 5u);
}

}  // namespace
}  // namespace canopy::core
