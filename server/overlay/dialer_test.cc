#include "server/overlay/dialer.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/overlay/fake_stream.h"

namespace canopy::overlay {
namespace {

class DialerTest : public testing::Test {
 protected:
  DialerTest() {
    config_.self = 3;
    config_.redial_min_ms = 1;
    config_.redial_max_ms = 4;
    config_.grace_ms = 1;
    for (NodeId id = 0; id < 4; ++id) {
      config_.members.push_back(
          {"n" + std::to_string(id), "at" + std::to_string(id)});
    }
    view_ = std::make_unique<MembershipView>(config_);
    dialer_ = std::make_unique<Dialer>(
        &loop_, &network_, &config_, view_.get(),
        [this](NodeId node, const StreamEnd& end, const Welcome&,
               const std::shared_ptr<Stream>& stream) {
          EXPECT_EQ(end.ok(), stream != nullptr);
          EXPECT_FALSE(dialer_->dialling());
          dialled_.push_back(node);
        });
  }

  EventLoop loop_;
  FakeNetwork network_{&loop_};
  OverlayConfig config_;
  std::unique_ptr<MembershipView> view_;
  std::unique_ptr<Dialer> dialer_;
  std::vector<NodeId> dialled_;
};

TEST_F(DialerTest, ReportsAFailedDial) {
  dialer_->Dial(1, {});
  EXPECT_TRUE(dialer_->busy());
  while (dialled_.empty()) loop_.RunOnce(-1);
  EXPECT_EQ(dialled_, std::vector<NodeId>{1});
  EXPECT_FALSE(dialer_->busy());
}

TEST_F(DialerTest, AnAbandonedDialIsNotReported) {
  dialer_->Dial(1, {});
  dialer_->AbandonOthers(1);
  EXPECT_TRUE(dialer_->dialling());
  dialer_->AbandonOthers(2);
  EXPECT_FALSE(dialer_->dialling());
  for (int i = 0; i < 10; ++i) loop_.RunOnce(0);
  EXPECT_TRUE(dialled_.empty());
}

TEST_F(DialerTest, EachPauseIsLongerUpToTheMaximum) {
  std::vector<int64_t> pauses;
  for (int i = 0; i < 5; ++i) {
    const int64_t begun = EventLoop::Now();
    bool over = false;
    dialer_->Pause([&] { over = true; });
    dialer_->Pause([] { FAIL() << "there is a pause already"; });
    EXPECT_TRUE(dialer_->busy());
    while (!over) loop_.RunOnce(-1);
    pauses.push_back(EventLoop::Now() - begun);
  }
  EXPECT_GE(pauses[0], 1000000);
  EXPECT_GE(pauses[1], 2000000);
  EXPECT_GE(pauses[4], 4000000);
}

TEST_F(DialerTest, ProbesEachEarlierMemberInTurn) {
  std::vector<NodeId> probed;
  while (probed.size() < 4) {
    dialer_->ProbeLater(1, [&] { probed.push_back(dialer_->NextToProbe()); });
    loop_.RunOnce(-1);
  }
  EXPECT_EQ(probed, (std::vector<NodeId>{0, 1, 2, 0}));
}

TEST_F(DialerTest, ProbesRunBesideADialUntilItIsTheOnlyOneWanted) {
  dialer_->Dial(2, {});
  dialer_->Probe(0);
  dialer_->Probe(0);
  dialer_->Probe(1);
  while (dialled_.size() < 3) loop_.RunOnce(-1);
  EXPECT_EQ(std::set<NodeId>(dialled_.begin(), dialled_.end()),
            (std::set<NodeId>{0, 1, 2}));
  dialer_->Probe(0);
  dialer_->AbandonOthers(0);
  for (int i = 0; i < 10; ++i) loop_.RunOnce(0);
  EXPECT_EQ(dialled_.size(), 3u);
}

TEST_F(DialerTest, NoCallbackIsCalledAfterStop) {
  dialer_->Dial(1, {});
  dialer_->Pause([] { FAIL(); });
  dialer_->ProbeLater(1, [] { FAIL(); });
  dialer_->Stop();
  EXPECT_FALSE(dialer_->busy());
  bool passed = false;
  loop_.AddTimer(10000000, [&] { passed = true; });
  while (!passed) loop_.RunOnce(-1);
  EXPECT_TRUE(dialled_.empty());
}

}  // namespace
}  // namespace canopy::overlay
