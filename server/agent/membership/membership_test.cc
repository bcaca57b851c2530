#include "server/agent/membership/membership.h"

#include <gtest/gtest.h>

#include <optional>
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

class MemberLimitsTest : public testing::Test {
 protected:
  // Makes an overlay of two members with this many slots each.
  void SetSlots(uint32_t slots) {
    config_.clear_member_names();
    config_.add_member_names("n0");
    config_.add_member_names("n1");
    membership_.emplace(config_);
    bootstrap::v1::Members members;
    for (const char* name : {"n0", "n1"}) {
      bootstrap::v1::NodeInfo* const node = members.add_nodes();
      node->set_name(name);
      node->set_slots(slots);
    }
    membership_->Set(members);
  }
  control::UserLimits Limits() const {
    return membership_->LimitsOfUsers(config_);
  }

  bootstrap::v1::Config config_;
  std::optional<Membership> membership_;
};

TEST_F(MemberLimitsTest, TheDefaultLimitOfProcessesGrowsWithTheSlots) {
  SetSlots(2);
  EXPECT_EQ(Limits().jobs, 2048u);
  EXPECT_EQ(Limits().procs, 65536u);
  SetSlots(100000);
  EXPECT_EQ(Limits().jobs, 2048u);
  EXPECT_EQ(Limits().procs, 800000u);
  overlay::MemberRecord removed = membership_->RecordOf(1);
  removed.service = overlay::Service::kRemoved;
  membership_->Apply(removed);
  EXPECT_EQ(Limits().procs, 400000u);
}

TEST_F(MemberLimitsTest, ConfiguredLimitsReplaceTheDefaults) {
  config_.set_max_jobs_per_user(7);
  config_.set_max_procs_per_user(9);
  SetSlots(100000);
  EXPECT_EQ(Limits().jobs, 7u);
  EXPECT_EQ(Limits().procs, 9u);
}

}  // namespace
}  // namespace canopy::agent
