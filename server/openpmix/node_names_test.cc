#include "server/openpmix/node_names.h"

#include <gtest/gtest.h>

#include "common/growth_testing.h"

namespace canopy::openpmix {
namespace {

TEST(NodeNamesTest, IsNamedAcceptsTheNameAndTheAliases) {
  const JobNode node = {"a", {"b"}, 0, 1};
  EXPECT_TRUE(IsNamed(node, "a"));
  EXPECT_TRUE(IsNamed(node, "b"));
  EXPECT_FALSE(IsNamed(node, "c"));
}

TEST(NodeNamesTest, NodeNamesListsEachNodeOnce) {
  JobSpec one;
  one.nodes = {{"b", {}, 0, 1}, {"a", {}, 1, 1}};
  JobSpec two;
  two.nodes = {{"a", {}, 1, 1}, {"c", {}, 2, 1}};
  EXPECT_EQ(NodeNames({&one, &two}), "b,a,c");
  EXPECT_EQ(NodeNames({}), "");
}

TEST(NodeNamesTest, NodeNamesTakesLinearTime) {
  const double growth = GrowthOf(2000, [](size_t nodes) {
    JobSpec job;
    for (size_t n = 0; n < nodes; ++n) {
      job.nodes.push_back({"node" + std::to_string(n), {}, 0, 1});
    }
    EXPECT_FALSE(NodeNames({&job}).empty());
  });
  EXPECT_LT(growth, kAlmostLinear);
}

}  // namespace
}  // namespace canopy::openpmix
