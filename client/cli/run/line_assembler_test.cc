#include "client/cli/run/line_assembler.h"

#include <gtest/gtest.h>

#include <random>
#include <sstream>

namespace canopy::cli {
namespace {

constexpr OutputStream kA{0, 2};
constexpr OutputStream kB{1, 2};

std::string Tag(OutputStream stream) {
  return "[" + std::to_string(stream.first) + "]";
}

TEST(LineAssemblerTest, WholeLinesPassAndPartsAreHeld) {
  LineAssembler lines({});
  std::string out;
  lines.Add(kA, "one\ntw", 0, &out);
  EXPECT_EQ(out, "one\n");
  EXPECT_EQ(lines.held(), 2u);
  lines.Add(kB, "other\n", 0, &out);
  lines.Add(kA, "o\n", 0, &out);
  EXPECT_EQ(out, "one\nother\ntwo\n");
  EXPECT_EQ(lines.held(), 0u);
  EXPECT_FALSE(lines.OldestHeld().has_value());
}

TEST(LineAssemblerTest, TheEndOfAStreamReleasesItsPart) {
  LineAssembler lines({});
  std::string out;
  lines.Add(kA, "no end", 0, &out);
  EXPECT_EQ(out, "");
  lines.Close(kA, &out);
  EXPECT_EQ(out, "no end");
  lines.Add(kB, "next\n", 0, &out);
  EXPECT_EQ(out, "no end\nnext\n");
  lines.Close(kB, &out);
  EXPECT_EQ(out, "no end\nnext\n");
}

TEST(LineAssemblerTest, OldPartsAreReleased) {
  LineAssembler lines({});
  std::string out;
  lines.Add(kA, "prompt: ", 100, &out);
  EXPECT_EQ(lines.OldestHeld(), 100);
  lines.FlushOlder(99, &out);
  EXPECT_EQ(out, "");
  lines.FlushOlder(100, &out);
  EXPECT_EQ(out, "prompt: ");
  // The same stream continues its line; another stream starts a new line.
  lines.Add(kA, "answer\n", 200, &out);
  EXPECT_EQ(out, "prompt: answer\n");
  lines.Add(kA, "dots..", 300, &out);
  lines.FlushAll(&out);
  lines.Add(kB, "b\n", 300, &out);
  EXPECT_EQ(out, "prompt: answer\ndots..\nb\n");
}

TEST(LineAssemblerTest, EveryLineGetsItsPrefixOnce) {
  LineAssembler lines({.prefix = Tag});
  std::string out;
  lines.Add(kA, "1\n2\n3", 0, &out);
  lines.Add(kB, "\n\n", 0, &out);
  lines.Add(kA, "3\n4\n", 0, &out);
  EXPECT_EQ(out, "[0]1\n[0]2\n[1]\n[1]\n[0]33\n[0]4\n");
  out.clear();
  lines.Add(kA, "part", 0, &out);
  lines.FlushAll(&out);
  lines.Add(kA, " done\nnext\n", 0, &out);
  EXPECT_EQ(out, "[0]part done\n[0]next\n");
}

TEST(LineAssemblerTest, LongLinesAreReleasedInParts) {
  LineAssembler lines({.max_line = 10});
  std::string out;
  lines.Add(kA, "0123456789", 0, &out);
  EXPECT_EQ(out, "");
  lines.Add(kA, "ab", 0, &out);
  EXPECT_EQ(out, "0123456789ab");
  lines.Add(kA, "c\n", 0, &out);
  EXPECT_EQ(out, "0123456789abc\n");
}

TEST(LineAssemblerTest, LimitsTheHeldBytes) {
  LineAssembler lines({.max_line = 100, .max_held = 150});
  std::string out;
  for (uint32_t rank = 0; rank < 10; ++rank) {
    lines.Add({rank, 2}, std::string(40 + rank, 'x'), 0, &out);
    EXPECT_LE(lines.held(), 150u);
  }
  EXPECT_FALSE(out.empty());
}

// With any division into pieces, the lines of each stream are complete and in
// order.
TEST(LineAssemblerTest, RandomPiecesYieldWholeLines) {
  std::mt19937 random(7);
  LineAssembler lines({});
  std::string out;
  std::string pending[4];
  int next[4] = {};
  for (int step = 0; step < 20000; ++step) {
    const uint32_t rank = random() % 4;
    std::string& text = pending[rank];
    while (text.size() < 20) {
      text += std::to_string(rank) + ":" + std::to_string(next[rank]++) + "\n";
    }
    const size_t n = 1 + random() % text.size();
    lines.Add({rank, 2}, text.substr(0, n), step, &out);
    text.erase(0, n);
  }
  int expected[4] = {};
  std::istringstream in(out);
  size_t count = 0;
  for (std::string line; std::getline(in, line); ++count) {
    const size_t rank = static_cast<size_t>(line[0] - '0');
    ASSERT_LT(rank, 4u) << line;
    ASSERT_EQ(line,
              std::to_string(rank) + ":" + std::to_string(expected[rank]++));
  }
  EXPECT_GT(count, 10000u);
}

}  // namespace
}  // namespace canopy::cli
