#include "client/cli/control/member_positions.h"

#include <gtest/gtest.h>

namespace canopy::cli {
namespace {

TEST(MemberPositionsTest, AMemberIsFoundByTheNameOrTheAddressOfItsNode) {
  v1::Context context;
  context.add_members()->set_name("n1");
  context.add_members()->set_name("10.0.0.2");
  const MemberPositions positions(context);
  control::v1::NodeStatus node;
  node.set_name("n1");
  node.set_address("10.0.0.2:7117");
  EXPECT_EQ(positions.Of(node), 0) << "the name has precedence";
  node.set_name("n2");
  EXPECT_EQ(positions.Of(node), 1);
  node.set_address("10.0.0.3:7117");
  EXPECT_FALSE(positions.Of(node).has_value());
}

}  // namespace
}  // namespace canopy::cli
