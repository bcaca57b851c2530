#include "server/net/silence_watch.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace canopy::net {
namespace {

using Id = SilenceWatch::Id;
using Reason = SilenceWatch::Reason;
using Ended = std::vector<std::pair<Id, Reason>>;

constexpr int64_t kMillisecond = 1000 * 1000;

class SilenceWatchTest : public ::testing::Test {
 protected:
  SilenceWatchTest() { Make(20 * kMillisecond); }

  void Make(int64_t timeout_ns) {
    watch_.reset();
    SilenceWatch::Parts parts;
    parts.now = now_;
    parts.policy.limits = {
        .timeout_ns = timeout_ns, .per_source = 2, .total = 4};
    parts.end = [this](Id id, Reason reason) {
      watch_->Remove(id);
      ended_.emplace_back(id, reason);
    };
    watch_.emplace(&loop_, std::move(parts));
  }
  void Until(const std::function<bool()>& done) {
    const int64_t deadline = EventLoop::Now() + 10000 * kMillisecond;
    while (!done() && EventLoop::Now() < deadline) loop_.RunOnce(100);
    EXPECT_TRUE(done());
  }

  EventLoop loop_;
  std::function<int64_t()> now_ = EventLoop::Now;
  Ended ended_;
  const Source source_{"a", {}};
  std::optional<SilenceWatch> watch_;
};

TEST_F(SilenceWatchTest, EndsConnectionsThatAreSilentForTooLong) {
  const int64_t begun = EventLoop::Now();
  watch_->Add(1, source_);
  watch_->Add(2, source_);
  watch_->Remove(2);
  Until([this] { return watch_->empty(); });
  EXPECT_EQ(ended_, (Ended{{1, Reason::kTimeout}}));
  EXPECT_GE(EventLoop::Now() - begun, 20 * kMillisecond);
  // The watch continues: it also ends a connection that is added now.
  watch_->Add(3, source_);
  Until([this] { return ended_.size() == 2; });
}

TEST_F(SilenceWatchTest, MakeRoomEndsASilentConnectionForANewOne) {
  Make(3600 * 1000 * kMillisecond);
  for (const Id id : {1, 2}) {
    EXPECT_TRUE(watch_->MakeRoom(source_, Supply::kPlenty));
    watch_->Add(id, source_);
  }
  EXPECT_TRUE(watch_->MakeRoom({"b", {}}, Supply::kPlenty));
  EXPECT_TRUE(ended_.empty());
  EXPECT_TRUE(watch_->MakeRoom(source_, Supply::kPlenty));
  EXPECT_EQ(ended_, (Ended{{1, Reason::kMakesRoom}}));
  EXPECT_TRUE(watch_->MakeRoom({"b", {}}, Supply::kExhausted));
  EXPECT_EQ(ended_.size(), 2u);
  EXPECT_TRUE(watch_->empty());
}

TEST_F(SilenceWatchTest, TimeInWhichTheLoopDoesNotRunCountsOnlyPartly) {
  int64_t time = 0;
  now_ = [&time] { return time; };
  Make(16 * kMillisecond);
  watch_->Add(1, source_);
  time += 3600 * 1000 * kMillisecond;
  const uint64_t round = loop_.round();
  Until([&] { return loop_.round() > round + 1; });
  EXPECT_TRUE(ended_.empty());
  Until([&] {
    time += 4 * kMillisecond;
    return watch_->empty();
  });
}

}  // namespace
}  // namespace canopy::net
