#include "server/core/event/interest.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace canopy::core {
namespace {

using News = std::vector<std::pair<NodeId, uint32_t>>;

const uint32_t kEnd = LifecycleBit(kEventJobEnd);
const uint32_t kStart = LifecycleBit(kEventJobStart);

TEST(Interest, ARegistrationForAnotherCodeCausesNoMessage) {
  Interest interest;
  interest.Add(-500);
  EXPECT_TRUE(interest.TakeNews({0, 3, 4}).empty());
}

TEST(Interest, EachNeighbourGetsTheInterestOfTheOthers) {
  Interest interest;
  interest.Add(kEventJobEnd);
  EXPECT_EQ(interest.Take(3, Interest::Encode(3, 1, kStart)), kStart);
  EXPECT_EQ(interest.TakeNews({0, 3, 4}),
            (News{{0, kEnd | kStart}, {3, kEnd}, {4, kEnd | kStart}}));
  EXPECT_TRUE(interest.TakeNews({0, 3, 4}).empty());
}

TEST(Interest, TheInterestEndsWithTheLastClient) {
  Interest interest;
  interest.Add(kEventJobEnd);
  interest.Add(kEventJobEnd);
  EXPECT_EQ(interest.TakeNews({0}).size(), 1u);
  interest.Remove(kEventJobEnd);
  EXPECT_TRUE(interest.TakeNews({0}).empty());
  interest.Remove(kEventJobEnd);
  EXPECT_EQ(interest.TakeNews({0}), (News{{0, 0}}));
}

TEST(Interest, OvertakenAndForwardedInterestsAreIgnored) {
  Interest interest;
  EXPECT_EQ(interest.Take(3, Interest::Encode(3, 5, kEnd)), kEnd);
  EXPECT_EQ(interest.Take(3, Interest::Encode(3, 4, kStart)), 0u);
  EXPECT_EQ(interest.Take(3, Interest::Encode(7, 6, kStart)), 0u);
  EXPECT_EQ(interest.Of(3), kEnd);
}

TEST(Interest, ARestartedNeighbourGetsTheInterestAgain) {
  Interest interest;
  interest.Add(kEventJobEnd);
  EXPECT_EQ(interest.Take(3, Interest::Encode(3, 5, kStart)), kStart);
  EXPECT_EQ(interest.TakeNews({3}).size(), 1u);
  interest.Forget(3);
  EXPECT_EQ(interest.Of(3), 0u);
  EXPECT_EQ(interest.TakeNews({3}), (News{{3, kEnd}}));
  // The numbers of a new agent may be lower.
  EXPECT_EQ(interest.Take(3, Interest::Encode(3, 1, kStart)), kStart);
}

TEST(Interest, ALostNeighbourHasNoInterest) {
  Tree tree(7, 2);
  Interest interest;
  EXPECT_EQ(interest.Take(3, Interest::Encode(3, 5, kEnd)), kEnd);
  tree.SetAlive(3, false);
  interest.ForgetLost(tree);
  EXPECT_EQ(interest.Of(3), 0u);
}

}  // namespace
}  // namespace canopy::core
