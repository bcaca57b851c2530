#include "server/endpoint/byte_account.h"

#include <gtest/gtest.h>

namespace canopy::endpoint {
namespace {

const ByteHolder kFirst{"a", "a:0"};
const ByteHolder kSecond{"a", "a:1"};
const ByteHolder kOther{"b", "b:0"};

ByteLimits Small() {
  ByteLimits limits;
  limits.client = 10;
  limits.job = 15;
  limits.all = 20;
  return limits;
}

TEST(ByteAccount, TheBytesOfAClientAreLimited) {
  ByteAccount account(Small());
  EXPECT_TRUE(account.Charge(kFirst, 6));
  EXPECT_FALSE(account.Charge(kFirst, 5));
  EXPECT_TRUE(account.Charge(kFirst, 4));
  account.Release(kFirst, 6);
  EXPECT_TRUE(account.Charge(kFirst, 6));
}

TEST(ByteAccount, TheFirstMessageMayExceedTheLimit) {
  ByteAccount account(Small());
  EXPECT_TRUE(account.Charge(kFirst, 100));
  EXPECT_FALSE(account.Charge(kFirst, 1));
  EXPECT_FALSE(account.Charge(kSecond, 1));
  EXPECT_EQ(account.HeldByJob("a"), 100u);
}

TEST(ByteAccount, TheClientsOfAJobShareItsLimit) {
  ByteAccount account(Small());
  EXPECT_TRUE(account.Charge(kFirst, 9));
  EXPECT_FALSE(account.Charge(kSecond, 9));
  EXPECT_TRUE(account.Charge(kSecond, 6));
}

TEST(ByteAccount, OneJobsBytesLeaveRoomForAnotherJob) {
  ByteAccount account(Small());
  EXPECT_TRUE(account.Charge(kFirst, 100));
  EXPECT_TRUE(account.Charge(kOther, 9));
  // The endpoint's limit holds for the further messages.
  EXPECT_FALSE(account.Charge({"b", "b:1"}, 1));
  account.Release(kFirst, 100);
  EXPECT_TRUE(account.Charge({"b", "b:1"}, 1));
  EXPECT_EQ(account.held(), 10u);
}

TEST(ByteAccount, QueuedBytesCountForAllConnectionsOfAClient) {
  ByteAccount account(Small());
  EXPECT_EQ(account.SetQueued(kFirst, 0, 5), 5u);
  EXPECT_EQ(account.SetQueued(kFirst, 0, 7), 12u);
  EXPECT_EQ(account.SetQueued(kSecond, 0, 1), 1u);
  EXPECT_EQ(account.SetQueued(kFirst, 5, 0), 7u);
}

}  // namespace
}  // namespace canopy::endpoint
