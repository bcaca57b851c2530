#include "server/core/event/group_events.h"

#include <gtest/gtest.h>

#include <vector>

#include "server/core/core_testing.h"
#include "server/core/event/events.h"

namespace canopy::core {
namespace {

class GroupEventsTest : public testing::Test {
 protected:
  GroupEventsTest() : jobs_(0) {
    jobs_.Add(JobOn("a", {0, 0, 0}));
    group_.name = "g";
    group_.participants = {{"a", kRankWildcard}};
  }

  JobTable jobs_;
  Group group_;
};

TEST_F(GroupEventsTest, AFailedMemberIsReportedToTheLeaderOrToAllOthers) {
  EventRaised event = MemberFailed(group_, {"a", 1}, jobs_);
  EXPECT_EQ(event.status, -170);
  EXPECT_EQ(event.range, static_cast<uint8_t>(DataRange::kCustom));
  EXPECT_EQ(event.targets, (std::vector<ProcId>{{"a", 0}, {"a", 2}}));
  group_.record.leader = {"a", 2};
  event = MemberFailed(group_, {"a", 1}, jobs_);
  EXPECT_EQ(event.targets, (std::vector<ProcId>{{"a", 2}}));
}

TEST_F(GroupEventsTest, ALeaveEventIdentifiesTheGroup) {
  group_.record.made = 4711;
  const EventRaised event = MemberLeft(group_, {"a", 1}, jobs_);
  EXPECT_EQ(event.targets, (std::vector<ProcId>{{"a", 0}, {"a", 2}}));
  EventMessage message;
  message.status = event.status;
  message.request = event.id;
  message.info = event.info;
  ASSERT_TRUE(GroupLeft(message));
  EXPECT_EQ(GroupLeft(message)->name, "g");
  EXPECT_EQ(GroupLeft(message)->made, 4711u);
  for (size_t size = 0; size + 24 < event.info.size(); ++size) {
    message.info = event.info.Slice(0, size);
    (void)GroupLeft(message);
  }
  message.status = -170;
  message.info = event.info;
  EXPECT_FALSE(GroupLeft(message));
}

// An event raised by a process does not have a number of an agent.
TEST_F(GroupEventsTest, ALeaveEventOfAProcessIsNotAccepted) {
  const EventRaised event = MemberLeft(group_, {"a", 1}, jobs_);
  EventMessage message;
  message.status = event.status;
  message.info = event.info;
  EXPECT_FALSE(GroupLeft(message));
  message.request = event.id & ~kAgentsEvent;
  EXPECT_FALSE(GroupLeft(message));
}

TEST_F(GroupEventsTest, TheEventOfALargeGroupIsAddressedToTheWholeJob) {
  jobs_.Add(JobOn("big", std::vector<NodeId>(2000, 0)));
  group_.participants = {{"big", kRankWildcard}};
  const EventRaised event = MemberFailed(group_, {"big", 1}, jobs_);
  EXPECT_EQ(event.targets, group_.participants);
}

}  // namespace
}  // namespace canopy::core
