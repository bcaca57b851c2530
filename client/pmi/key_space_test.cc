#include "client/pmi/key_space.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace canopy::pmi {
namespace {

constexpr char kJob[] = "job-1";

TEST(KeySpaceTest, KeysOfTheJobsOwnSpaceAreUnchanged) {
  EXPECT_TRUE(IsSpaceOf(kJob, kJob));
  EXPECT_EQ(PmixKey(kJob, kJob, "address"), "address");
  EXPECT_EQ(KeyInSpace(kJob, kJob, "address"), "address");
}

TEST(KeySpaceTest, ReservedKeysBelongToNoSpace) {
  EXPECT_EQ(KeyInSpace(kJob, kJob, "pmix.rank"), std::nullopt);
  EXPECT_EQ(KeyInSpace(kJob, kJob, "|node|memory"), std::nullopt);
}

TEST(KeySpaceTest, EqualKeysOfDifferentSpacesAreDistinct) {
  std::set<std::string> keys = {PmixKey(kJob, kJob, "key")};
  for (uint32_t rank : {0U, 1U, 11U}) {
    for (uint32_t number : {0U, 1U, 11U}) {
      const std::string space = CreatedSpace(kJob, rank, number);
      EXPECT_TRUE(IsSpaceOf(kJob, space)) << space;
      const std::string key = PmixKey(kJob, space, "key");
      EXPECT_TRUE(keys.insert(key).second) << key;
      EXPECT_EQ(KeyInSpace(kJob, space, key), "key");
      EXPECT_EQ(KeyInSpace(kJob, kJob, key), std::nullopt);
    }
  }
  EXPECT_EQ(KeyInSpace(kJob, CreatedSpace(kJob, 1, 1),
                       PmixKey(kJob, CreatedSpace(kJob, 1, 11), "key")),
            std::nullopt);
}

TEST(KeySpaceTest, IsSpaceOfRejectsTheSpacesOfOtherJobs) {
  EXPECT_FALSE(IsSpaceOf(kJob, "job-2"));
  EXPECT_FALSE(IsSpaceOf(kJob, "job-10"));
  EXPECT_FALSE(IsSpaceOf(kJob, ""));
  EXPECT_FALSE(IsSpaceOf(kJob, CreatedSpace("job-2", 0, 0)));
}

TEST(KeySpaceTest, TheLongestKeyFitsPmix) {
  constexpr size_t kPmixMaxKey = 511;
  const std::string job(kMaxName - 1, 'j');
  EXPECT_EQ(CreatedSpace(job, 0, 0), "");
  const std::string space =
      CreatedSpace(job.substr(0, 230), 4294967295U, 4294967295U);
  ASSERT_FALSE(space.empty());
  EXPECT_LE(
      PmixKey(job.substr(0, 230), space, std::string(kMaxKey - 1, 'k')).size(),
      kPmixMaxKey);
}

}  // namespace
}  // namespace canopy::pmi
