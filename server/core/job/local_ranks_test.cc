#include "server/core/job/local_ranks.h"

#include <gtest/gtest.h>

#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

using Ranks = std::vector<Rank>;

class LocalRanksTest : public testing::Test {
 protected:
  LocalRanks On(uint32_t node) const {
    return {spec_, std::make_shared<JobLayout>(*spec_), node};
  }

  const std::shared_ptr<const JobSpec> spec_ = JobOn("job", {1, 3, 1});
};

TEST_F(LocalRanksTest, ReturnsTheRanksOfTheNode) {
  const LocalRanks here = On(0);
  EXPECT_TRUE(here.any());
  EXPECT_EQ(here.all(), (Ranks{0, 2}));
  EXPECT_TRUE(here.Has(2));
  EXPECT_FALSE(here.Has(1));
  EXPECT_FALSE(here.Has(3)) << "the job has no such rank";
}

TEST_F(LocalRanksTest, AnEmptyListStandsForAllLocalRanks) {
  EXPECT_EQ(On(0).Of({}), (Ranks{0, 2}));
  EXPECT_EQ(On(0).Of({2, 1, 7}), (Ranks{2}));
  EXPECT_EQ(On(1).Of({2}), Ranks{});
}

TEST_F(LocalRanksTest, ANodeOutsideTheJobHasNoLocalRanks) {
  const LocalRanks none = On(kNoNode);
  EXPECT_FALSE(none.any());
  EXPECT_FALSE(none.Has(0));
}

}  // namespace
}  // namespace canopy::core
