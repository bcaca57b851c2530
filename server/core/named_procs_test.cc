#include "server/core/named_procs.h"

#include <gtest/gtest.h>

namespace canopy::core {
namespace {

TEST(NamedProcsTest, AWildcardNamesAllProcessesOfItsJob) {
  const std::vector<ProcId> named = {{"a", 1}, {"b", kRankWildcard}};
  EXPECT_TRUE(Names(named, {"a", 1}));
  EXPECT_FALSE(Names(named, {"a", 0}));
  EXPECT_TRUE(Names(named, {"b", 0}));
  EXPECT_FALSE(Names(named, {"c", 1}));
  EXPECT_FALSE(Names({}, {"a", 1}));
}

}  // namespace
}  // namespace canopy::core
