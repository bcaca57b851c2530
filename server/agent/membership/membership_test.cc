#include "server/agent/membership/membership.h"

#include <gtest/gtest.h>

#include <string>

namespace canopy::agent {
namespace {

class MembershipTest : public testing::Test {
 protected:
  MembershipTest() {
    for (const char* name : {"a", "b", "c"}) config_.add_member_names(name);
  }
  static std::string Description(const std::string& name, uint32_t slots) {
    bootstrap::v1::NodeInfo info;
    info.set_name(name);
    info.set_slots(slots);
    return info.SerializeAsString();
  }

  bootstrap::v1::Config config_;
};

TEST_F(MembershipTest, AnAgentDescribesItsOwnNodeOnly) {
  Membership membership(config_);
  EXPECT_TRUE(membership.Describe(1, Description("b", 4)));
  EXPECT_EQ(membership.info(1).slots(), 4u);
  EXPECT_FALSE(membership.Describe(1, Description("b", 4))) << "nothing new";
  EXPECT_FALSE(membership.Describe(1, Description("c", 8)));
  EXPECT_FALSE(membership.Describe(1, "\xff"));
  EXPECT_FALSE(membership.Describe(7, Description("x", 8)));
  EXPECT_FALSE(membership.Describe(0, Description("a", 8))) << "this agent";
  EXPECT_EQ(membership.info(1).slots(), 4u);
}

TEST_F(MembershipTest, ADecisionDoesNotBringAnOldDescriptionBack) {
  Membership membership(config_);
  overlay::MemberRecord record = membership.RecordOf(1);
  record.version = 1;
  record.service = overlay::Service::kDrained;
  record.description = Description("b", 2);
  EXPECT_TRUE(membership.Describe(1, Description("b", 4)));
  membership.Apply(record);
  EXPECT_EQ(membership.info(1).slots(), 4u);
  EXPECT_NE(membership.WhyDrained(1), "");
  EXPECT_EQ(membership.RecordOf(1).description, "");
}

}  // namespace
}  // namespace canopy::agent
