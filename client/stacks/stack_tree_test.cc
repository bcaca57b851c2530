#include "client/stacks/stack_tree.h"

#include <gtest/gtest.h>

namespace canopy::tools {
namespace {

TEST(StackTreeTest, RanksArePrintedAsRanges) {
  EXPECT_EQ(RanksText({}), "");
  EXPECT_EQ(RanksText({3}), "3");
  EXPECT_EQ(RanksText({0, 1, 2, 4, 6, 7}), "0-2,4,6-7");
}

TEST(StackTreeTest, EqualStacksAreMerged) {
  StackTree tree;
  EXPECT_TRUE(tree.empty());
  tree.Add(2, {"_start", "main", "fence"});
  tree.Add(0, {"_start", "main", "work", "sleep"});
  tree.Add(1, {"_start", "main", "fence"});
  tree.Add(3, {"_start"});
  EXPECT_EQ(tree.Text(),
            "4 ranks 0-3:\n"
            "  _start\n"
            "  3 ranks 0-2:\n"
            "    main\n"
            "    1 rank 0:\n"
            "      work\n"
            "      sleep\n"
            "    2 ranks 1-2:\n"
            "      fence\n");
}

TEST(StackTreeTest, StacksReturnsEachStackOnce) {
  StackTree tree;
  tree.Add(0, {"main", "work"});
  tree.Add(1, {"main", "fence"});
  tree.Add(2, {"main", "fence"});
  tree.Add(3, {"main"});
  const std::vector<MergedStack> stacks = tree.Stacks();
  ASSERT_EQ(stacks.size(), 3u);
  EXPECT_EQ(stacks[0].ranks, std::set<uint32_t>{0});
  EXPECT_EQ(stacks[1].ranks, (std::set<uint32_t>{1, 2}));
  EXPECT_EQ(stacks[1].frames, (std::vector<std::string>{"main", "fence"}));
  EXPECT_EQ(stacks[2].frames, std::vector<std::string>{"main"});
}

constexpr char kOutput[] =
    "[job,0]<stdout>: stack\t0\t0\tmain\tfence\n"
    "[job,1]<stdout>: stack\t1\t0\tmain\n"
    "stack\t1\t77\tclone\n"
    "[job,1]<stdout>: error\trank 2 on b: no\n"
    "noise\n"
    "stack\tx\t0\tmain\n";

TEST(StackTreeTest, ReadsTheOutputOfTheNodes) {
  const StackReport report = ReadStacks(kOutput, {});
  EXPECT_EQ(report.ranks, (std::set<uint32_t>{0, 1}));
  EXPECT_EQ(report.errors, std::vector<std::string>{"rank 2 on b: no"});
  EXPECT_EQ(report.tree.Text(),
            "2 ranks 0-1:\n"
            "  main\n"
            "  1 rank 0:\n"
            "    fence\n"
            "1 rank 1:\n"
            "  (another thread)\n"
            "  clone\n");
}

TEST(StackTreeTest, ReadsOnlyTheSelectedRanks) {
  const StackReport report = ReadStacks(kOutput, {0});
  EXPECT_EQ(report.ranks, std::set<uint32_t>{0});
  EXPECT_EQ(report.tree.Text(), "1 rank 0:\n  main\n  fence\n");
}

}  // namespace
}  // namespace canopy::tools
