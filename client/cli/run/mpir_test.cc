#include "client/cli/run/mpir.h"

#include <gtest/gtest.h>

namespace canopy::cli {
namespace {

TEST(MpirTest, TheTableHasAllRanksInTheirOrder) {
  const auto table = ReadProcessTable("0\t11\tn1\t/bin/a b\n1\t12\tn2\tc\n");
  ASSERT_TRUE(table);
  ASSERT_EQ(table->size(), 2u);
  EXPECT_EQ((*table)[0].host, "n1");
  EXPECT_EQ((*table)[0].program, "/bin/a b");
  EXPECT_EQ((*table)[1].pid, 12);
  for (const char* const wrong :
       {"1\t11\tn1\ta\n", "0\t0\tn1\ta\n", "0\t11\tn1\n", "x"}) {
    EXPECT_FALSE(ReadProcessTable(wrong)) << wrong;
  }
}

TEST(MpirTest, TheTableOfAJobThatEndsAtOnceIsNotFilled) {
  MpirTable table({"/no/such/place"});
  table.OnRunning("job");
  table.OnRunning("job");
}

}  // namespace
}  // namespace canopy::cli
