#include "client/events/subscriptions.h"

#include <gtest/gtest.h>

#include "common/local/events.h"

namespace canopy::client {
namespace {

HandlerSpec For(std::vector<pmix_status_t> codes,
                pmix_data_range_t range = PMIX_RANGE_UNDEF) {
  HandlerSpec spec;
  spec.codes = std::move(codes);
  spec.range = range;
  return spec;
}

using Codes = std::vector<pmix_status_t>;

TEST(Subscriptions, AddAndRemoveReturnOnlyTheChanges) {
  Subscriptions all;
  EXPECT_EQ(all.Add(For({-1, -2, -2})).codes, (Codes{-2, -1}));
  EXPECT_EQ(all.Add(For({-2, -3})).codes, Codes{-3});
  EXPECT_TRUE(all.Add(For({-1})).empty());
  EXPECT_TRUE(all.Add(For({})).all);
  EXPECT_TRUE(all.Add(For({})).empty());
  EXPECT_TRUE(all.Remove(For({-1})).empty());
  EXPECT_EQ(all.Remove(For({-1, -2, -2})).codes, Codes{-1});
  EXPECT_EQ(all.Remove(For({-2, -3})).codes, (Codes{-3, -2}));
  EXPECT_TRUE(all.Remove(For({})).empty());
  EXPECT_TRUE(all.any());
  EXPECT_TRUE(all.Remove(For({})).all);
  EXPECT_FALSE(all.any());
}

TEST(Subscriptions, HandlersOfTheProcessRangeChangeNoSubscription) {
  Subscriptions all;
  EXPECT_TRUE(all.Add(For({-1}, PMIX_RANGE_PROC_LOCAL)).empty());
  EXPECT_TRUE(all.Remove(For({-1}, PMIX_RANGE_PROC_LOCAL)).empty());
  EXPECT_FALSE(all.any());
}

TEST(Subscriptions, AChangeSurvivesEncoding) {
  SubscriptionChange change;
  change.all = true;
  change.codes = {-5, 7};
  const std::string bytes = change.Encode();
  local::Subscription read;
  ASSERT_TRUE(wire::Decode(bytes, &read));
  EXPECT_TRUE(read.all);
  EXPECT_EQ(read.codes, (std::vector<int>{-5, 7}));
}

}  // namespace
}  // namespace canopy::client
