#include "server/openpmix/readahead.h"

#include <gtest/gtest.h>

namespace canopy::openpmix {
namespace {

TEST(Readahead, TheWindowGrowsWithASequentialReader) {
  Readahead readahead;
  EXPECT_EQ(readahead.OnGet(0, 1), 4u);
  EXPECT_EQ(readahead.OnGet(0, 6), 8u);
  EXPECT_EQ(readahead.OnGet(0, 15), 16u);
  EXPECT_EQ(readahead.OnGet(0, 32), 32u);
  EXPECT_EQ(readahead.OnGet(0, 65), 64u);
  EXPECT_EQ(readahead.OnGet(0, 130), 64u);
}

TEST(Readahead, TheWindowSkipsTheReadersOwnRank) {
  Readahead inside;
  EXPECT_EQ(inside.OnGet(2, 0), 4u);  // 1, 3, 4, 5
  EXPECT_EQ(inside.OnGet(2, 6), 8u);
  Readahead next;
  EXPECT_EQ(next.OnGet(5, 0), 4u);  // 1, 2, 3, 4
  EXPECT_EQ(next.OnGet(5, 6), 8u);
}

TEST(Readahead, ARandomReaderGetsNoReadahead) {
  Readahead readahead;
  EXPECT_EQ(readahead.OnGet(3, 17), 0u);
  EXPECT_EQ(readahead.OnGet(3, 18), 0u);
  EXPECT_EQ(readahead.OnGet(3, 4), 0u);
  EXPECT_EQ(readahead.OnGet(3, 0), 4u);
  EXPECT_EQ(readahead.OnGet(3, 2), 0u);
  EXPECT_EQ(readahead.OnGet(3, 6), 0u);
}

TEST(Readahead, ReadaheadContinuesAfterStopBefore) {
  Readahead readahead;
  EXPECT_EQ(readahead.OnGet(0, 1), 4u);
  readahead.StopBefore(3);
  EXPECT_EQ(readahead.OnGet(0, 3), 8u);
}

TEST(Readahead, AFenceResetsTheWindow) {
  Readahead readahead;
  EXPECT_EQ(readahead.OnGet(0, 1), 4u);
  readahead.OnFence();
  EXPECT_EQ(readahead.OnGet(0, 6), 0u);
}

}  // namespace
}  // namespace canopy::openpmix
