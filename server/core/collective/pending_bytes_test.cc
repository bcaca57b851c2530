#include "server/core/collective/pending_bytes.h"

#include <gtest/gtest.h>

#include <vector>

namespace canopy::core {
namespace {

constexpr size_t kMib = 1 << 20;

TEST(PendingBytes, TheChargeEndsWhenItsObjectIsDestroyed) {
  PendingBytes pending;
  {
    auto charge = pending.Take("a", 1, 3 * kMib);
    ASSERT_TRUE(charge);
    EXPECT_EQ(pending.HeldBy("a"), 3 * kMib);
    PendingCharge moved = *std::move(charge);
    charge.reset();
    EXPECT_EQ(pending.HeldBy("a"), 3 * kMib);
  }
  EXPECT_EQ(pending.HeldBy("a"), 0u);
}

TEST(PendingBytes, OneClientsBytesLeaveRoomForOthersOfItsJob) {
  PendingBytes pending;
  std::vector<PendingCharge> charges;
  for (size_t i = 0; i < kMaxPendingBytesOfClient / kMib; ++i) {
    charges.push_back(*pending.Take("a", 1, kMib));
  }
  EXPECT_FALSE(pending.Take("a", 1, kMib));
  EXPECT_TRUE(pending.Take("a", 2, kMib));
}

TEST(PendingBytes, OneJobsBytesLeaveRoomForOtherJobs) {
  PendingBytes pending;
  std::vector<PendingCharge> charges;
  for (ClientId client = 0; client < kMaxPendingBytesOfJob / kMib; ++client) {
    charges.push_back(*pending.Take("a", client, kMib));
  }
  EXPECT_FALSE(pending.Take("a", 1000, 1));
  EXPECT_TRUE(pending.Take("b", 1001, kMib));
}

TEST(PendingBytes, AChargeMayOutliveItsJobAndClient) {
  PendingBytes pending;
  const auto charge = pending.Take("a", 1, kMib);
  pending.DropJob("a");
  pending.DropClient(1);
  EXPECT_EQ(pending.HeldBy("a"), 0u);
}

}  // namespace
}  // namespace canopy::core
