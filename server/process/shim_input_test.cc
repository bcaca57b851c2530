#include "server/process/shim_input.h"

#include <gtest/gtest.h>

#include <string>

namespace canopy::process {
namespace {

constexpr uint64_t kWindow = 1u << 20;

core::FeedInput Piece(const std::string& data, uint64_t end) {
  core::FeedInput piece;
  piece.data = Bytes(data);
  piece.end = end;
  return piece;
}

std::string TakeAll(ShimInput* input) {
  std::string all;
  while (std::optional<core::FeedInput> next = input->Next()) {
    all += std::string(next->data.view());
  }
  return all;
}

TEST(ShimInputTest, ReturnsPiecesInOrder) {
  ShimInput input;
  input.Feed(Piece("abc", 3));
  input.Feed(Piece("de", 5));
  EXPECT_EQ(TakeAll(&input), "abcde");
  EXPECT_FALSE(input.Next());
}

TEST(ShimInputTest, DataThatWasFedBeforeIsOmitted) {
  ShimInput input;
  input.Feed(Piece("abc", 3));
  input.Feed(Piece("abc", 3));
  input.Feed(Piece("bcde", 5));
  EXPECT_EQ(TakeAll(&input), "abcde");
}

TEST(ShimInputTest, DropsPiecesAfterAGap) {
  ShimInput input;
  input.Feed(Piece("abc", 3));
  input.Feed(Piece("fg", 7));
  input.Feed(Piece("x", 0));
  input.Feed(Piece("toolong", 5));
  EXPECT_EQ(TakeAll(&input), "abcx");
}

TEST(ShimInputTest, ReturnsTheEndOnlyAfterAllData) {
  ShimInput input;
  input.Feed(Piece("abc", 3));
  input.Feed(Piece("", 5));
  ASSERT_EQ(TakeAll(&input), "abc");
  input.Feed(Piece("", 3));
  const std::optional<core::FeedInput> end = input.Next();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->data.size(), 0u);
}

TEST(ShimInputTest, WaitsUntilTheWindowHasRoom) {
  ShimInput input;
  input.Feed(Piece(std::string(kWindow, 'a'), kWindow));
  input.Feed(Piece("b", kWindow + 1));
  ASSERT_TRUE(input.Next());
  EXPECT_FALSE(input.Next());
  input.Done(1);
  EXPECT_TRUE(input.Next());
}

TEST(ShimInputTest, APieceLargerThanTheWindowIsSentAlone) {
  ShimInput input;
  input.Feed(Piece(std::string(kWindow + 5, 'a'), kWindow + 5));
  EXPECT_TRUE(input.Next());
}

TEST(ShimInputTest, ThePositionCountsTheBytesThatProcessesHaveRead) {
  ShimInput input;
  input.Feed(Piece("abc", 3));
  ASSERT_TRUE(input.Next());
  EXPECT_EQ(input.position(), 0u);
  input.Done(2);
  EXPECT_EQ(input.position(), 2u);
}

TEST(ShimInputTest, ContinuesAtTheRecoveredPosition) {
  ShimInput input;
  input.Recover(/*taken=*/4, /*done=*/2);
  input.Feed(Piece("abcdef", 6));
  EXPECT_EQ(TakeAll(&input), "ef");
  EXPECT_EQ(input.position(), 2u);
}

TEST(ShimInputTest, CountsUnreadInputOfARecoveredShim) {
  ShimInput input;
  input.Recover(kWindow, 0);
  input.Feed(Piece("a", kWindow + 1));
  EXPECT_FALSE(input.Next());
  input.Done(1);
  EXPECT_TRUE(input.Next());
}

TEST(ShimInputTest, ReturnsNothingAfterClear) {
  ShimInput input;
  input.Feed(Piece("abc", 3));
  input.Clear();
  EXPECT_FALSE(input.Next());
}

TEST(ShimInputTest, GivenReturnsTheNumberOfForwardedBytes) {
  ShimInput input;
  input.Recover(7, 5);
  EXPECT_EQ(input.given(), 7u);
  input.Feed(Piece("abc", 10));
  EXPECT_EQ(input.given(), 10u);
}

}  // namespace
}  // namespace canopy::process
