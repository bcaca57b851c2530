#include "client/cli/run/mpir.h"

#include <gtest/gtest.h>

extern "C" volatile int MPIR_being_debugged;

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
  EXPECT_EQ(table.OnTick(), -1) << "the job does not run yet";
  table.OnRunning("job");
  table.OnRunning("job");
  const int left = table.OnTick();
  EXPECT_GT(left, 0);
  EXPECT_LE(left, 1000);
}

TEST(MpirTest, TheTableIsFilledAfterASecondOrForADebugger) {
  MpirTable table({"/no/such/place"});
  table.OnRunning("job");
  MPIR_being_debugged = 1;
  EXPECT_EQ(table.OnTick(), -1);
  MPIR_being_debugged = 0;
  EXPECT_EQ(table.OnTick(), -1) << "it is filled once";
}

}  // namespace
}  // namespace canopy::cli
