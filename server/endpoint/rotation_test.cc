#include "server/endpoint/rotation.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <vector>

namespace canopy::endpoint {
namespace {

// Connections with a number of messages each. Every message takes `cost` on a
// clock that only messages advance.
class RotationTest : public ::testing::Test {
 protected:
  RotationTest() {
    Budget budget;
    budget.turn_ns = 100;
    budget.round_ns = 250;
    budget.now = [this] { return now_; };
    rotation_.emplace(
        &loop_, std::move(budget),
        [this](core::ClientId client, Turn& turn) { Serve(client, turn); });
  }
  void Serve(core::ClientId client, Turn& turn) {
    turns_.push_back(client);
    int& left = left_[client];
    while (left > 0) {
      --left;
      now_ += cost_;
      if (turn.Spent()) break;
    }
    if (left > 0) rotation_->Queue(client);
  }
  void Ready(core::ClientId client) {
    std::optional<Turn> turn = rotation_->BeginTurn();
    if (turn) {
      Serve(client, *turn);
      rotation_->EndTurn(*turn);
    } else {
      rotation_->Queue(client);
    }
  }

  EventLoop loop_;
  int64_t now_ = 1000;
  int64_t cost_ = 50;
  std::map<core::ClientId, int> left_;
  std::vector<core::ClientId> turns_;
  std::optional<Rotation> rotation_;
};

using Turns = std::vector<core::ClientId>;

TEST_F(RotationTest, AConnectionWithOneMessageIsServedAtOnce) {
  left_ = {{1, 1}};
  Ready(1);
  EXPECT_EQ(turns_, Turns{1});
  EXPECT_EQ(rotation_->num_waiting(), 0u);
}

TEST_F(RotationTest, ATurnEndsWhenItsTimeIsSpent) {
  left_ = {{1, 1000}};
  Ready(1);
  // The turn reads the clock first after one message, so the time of that
  // message does not count.
  EXPECT_EQ(left_[1], 997);
  EXPECT_EQ(rotation_->num_waiting(), 1u);
}

TEST_F(RotationTest, EachWaitingConnectionHasOneTurnInARound) {
  left_ = {{1, 1000}, {2, 1000}};
  Ready(1);
  Ready(2);
  EXPECT_EQ(turns_, Turns{1});
  loop_.RunOnce(-1);
  EXPECT_EQ(turns_, (Turns{1, 1, 2}));
  loop_.RunOnce(-1);
  EXPECT_EQ(turns_, (Turns{1, 1, 2, 1, 2}));
}

TEST_F(RotationTest, ARoundEndsWhenItsTimeIsSpent) {
  for (core::ClientId id = 1; id <= 10; ++id) {
    left_[id] = 1000;
    Ready(id);
  }
  turns_.clear();
  for (int round = 0; round < 4; ++round) loop_.RunOnce(-1);
  // Three turns of 100 exceed 250. The connection that has waited longest comes
  // first.
  EXPECT_EQ(turns_, (Turns{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 2}));
}

TEST_F(RotationTest, AConnectionIsQueuedAfterWaitingConnections) {
  left_ = {{1, 1000}, {2, 1}};
  Ready(1);
  Ready(2);
  loop_.RunOnce(-1);
  EXPECT_EQ(turns_, (Turns{1, 1, 2}));
  EXPECT_EQ(left_[2], 0);
}

TEST_F(RotationTest, ARoundLimitsTheTurnsThatAreServedAtOnce) {
  for (core::ClientId id = 1; id <= 200; ++id) {
    left_[id] = 1;
    Ready(id);
  }
  const size_t at_once = turns_.size();
  EXPECT_GE(at_once, 64u);
  EXPECT_LT(at_once, 100u);
  for (int round = 0; round < 3; ++round) loop_.RunOnce(0);
  EXPECT_EQ(turns_.size(), 200u);
}

TEST(TurnTest, TheBytesOfATurnAreLimited) {
  Budget budget;
  budget.turn_bytes = 10;
  budget.now = [] { return int64_t{0}; };
  Turn turn(budget);
  turn.Charge(9);
  EXPECT_FALSE(turn.Spent());
  turn.Charge(1);
  EXPECT_TRUE(turn.Spent());
}

}  // namespace
}  // namespace canopy::endpoint
