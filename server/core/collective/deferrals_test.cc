#include "server/core/collective/deferrals.h"

#include <gtest/gtest.h>

#include <utility>

#include "common/status.h"
#include "server/core/core_testing.h"
#include "server/core/step/step_context.h"

namespace canopy::core {
namespace {

class DeferralsTest : public testing::Test {
 protected:
  static DeferredCollective Arrival(ClientId client, TimeNs deadline = kNever) {
    CollectiveArrived in;
    in.client = client;
    in.request = client;
    return {in, deadline};
  }
  DeferredCollective Up(uint64_t sequence) const {
    CollectiveUp up;
    up.id = series_.id;
    up.id.sequence = sequence;
    return {std::pair(NodeId{1}, up), kNever};
  }
  std::vector<int> Statuses() const {
    std::vector<int> out;
    for (const ReplyClient& reply : All<ReplyClient>(actions_)) {
      out.push_back(reply.status);
    }
    return out;
  }

  SeriesTable table_;
  Series& series_ =
      table_.FindOrAdd({CollectiveOp::kFence, {{"unknown", 0}}, 0});
  Deferrals deferrals_{table_};
  Actions actions_;
  StepContext step_{100, actions_};
};

TEST_F(DeferralsTest, TakeReturnsDeferredMessagesAndArrivalsInOrder) {
  deferrals_.Add(step_, series_, Up(0));
  deferrals_.Add(step_, series_, Arrival(5));
  const auto all = deferrals_.Take(series_);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<CollectiveArrived>(all[1].what));
  EXPECT_TRUE(series_.deferred.empty());
}

TEST_F(DeferralsTest, ADeferredArrivalExpiresAtItsOwnDeadline) {
  deferrals_.Add(step_, series_, Arrival(5, 100));
  deferrals_.Add(step_, series_, Arrival(6, 200));
  EXPECT_EQ(table_.NextDeadline(), 100);
  deferrals_.Expire(step_, series_);
  EXPECT_EQ(Statuses(), std::vector<int>{kErrTimeout});
  EXPECT_EQ(series_.deferred.size(), 1u);
}

TEST_F(DeferralsTest, FailAnswersOnlyArrivals) {
  deferrals_.Add(step_, series_, Up(0));
  deferrals_.Add(step_, series_, Arrival(5));
  deferrals_.Fail(step_, series_, kErrNotFound);
  EXPECT_EQ(Statuses(), std::vector<int>{kErrNotFound});
  EXPECT_TRUE(series_.deferred.empty());
}

TEST_F(DeferralsTest, AClientThatIsGoneGetsNoAnswer) {
  deferrals_.Add(step_, series_, Arrival(5));
  deferrals_.Drop(series_, 5);
  deferrals_.Fail(step_, series_, kErrNotFound);
  EXPECT_TRUE(actions_.empty());
}

TEST_F(DeferralsTest, MessagesBeyondTheLimitAreRefused) {
  for (uint64_t i = 0; i < kMaxDeferred; ++i) {
    deferrals_.Add(step_, series_, Up(i));
  }
  EXPECT_TRUE(series_.refused.empty());
  deferrals_.Add(step_, series_, Up(kMaxDeferred));
  EXPECT_EQ(series_.refused, std::set<uint64_t>{kMaxDeferred});
  deferrals_.Add(step_, series_, Arrival(5));
  EXPECT_EQ(series_.deferred.size(), kMaxDeferred + 1)
      << "arrivals have limits of their own";
  // Taking the deferred messages makes room.
  (void)deferrals_.Take(series_);
  deferrals_.Add(step_, series_, Up(kMaxDeferred + 1));
  EXPECT_EQ(series_.deferred.size(), 1u);
}

}  // namespace
}  // namespace canopy::core
