#include "common/job_name.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace canopy {
namespace {

TEST(JobNameTest, IsJobNameAcceptsTheNamesOfJobName) {
  EXPECT_EQ(JobName(0x123abcd, 7), "canopy-0123abcd-7");
  EXPECT_TRUE(IsJobName(JobName(0, 0)));
  EXPECT_TRUE(IsJobName(JobName(UINT32_MAX, UINT32_MAX)));
}

TEST(JobNameTest, IsJobNameRejectsNamesOfOtherForms) {
  for (const char* name :
       {"", "ocean", "canopy-", "canopy-0123abcd", "canopy-0123abcd-",
        "canopy-0123abcd-7x", "canopy-0123abcg-7", "canopy-123abcd-7",
        "canopy-0123abcd-7-8", "Canopy-0123abcd-7"}) {
    EXPECT_FALSE(IsJobName(name)) << name;
  }
}

}  // namespace
}  // namespace canopy
