#include "server/core/collective/member_lookup.h"

#include <gtest/gtest.h>

#include "server/core/core_testing.h"
#include "server/core/step/step_context.h"

namespace canopy::core {
namespace {

class MemberLookupTest : public testing::Test {
 protected:
  const Tree tree_{2, 2};
  JobTable jobs_{0};
  MemberLookup lookup_{0, tree_, jobs_};
  Actions actions_;
  CoreEvents events_;
  StepContext step_{0, actions_, &events_};
};

TEST_F(MemberLookupTest, RequestsTheMissingMaps) {
  Series series;
  series.id.participants = {{"a", 0}, {"b", 0}, {"b", 1}};
  jobs_.Add(JobOn("a", {0}));
  EXPECT_FALSE(lookup_.Resolve(step_, series));
  const auto wanted = TakeAll<MapWanted>(&events_);
  ASSERT_EQ(wanted.size(), 1u);
  EXPECT_EQ(wanted[0].nspace, "b");
  jobs_.Add(JobOn("b", {0, 1}));
  EXPECT_TRUE(lookup_.Resolve(step_, series));
  EXPECT_EQ(series.members->local, (std::vector<ProcId>{{"a", 0}, {"b", 0}}));
  EXPECT_TRUE(actions_.empty());
}

TEST_F(MemberLookupTest, RequestsABoundedNumberOfMapsAtATime) {
  Series series;
  for (size_t i = 0; i < 2 * kMaxMapsAtOnce; ++i) {
    series.id.participants.push_back({"unknown" + std::to_string(i), 0});
  }
  EXPECT_FALSE(lookup_.Resolve(step_, series));
  EXPECT_EQ(TakeAll<MapWanted>(&events_).size(), kMaxMapsAtOnce);
}

TEST_F(MemberLookupTest, LogsNamesOfUnknownProcesses) {
  Series series;
  series.id.participants = {{"a", 7}};
  jobs_.Add(JobOn("a", {0}));
  EXPECT_TRUE(lookup_.Resolve(step_, series));
  EXPECT_TRUE(series.members->local.empty());
  ASSERT_EQ(All<LogLine>(actions_).size(), 1u);
  EXPECT_EQ(All<LogLine>(actions_)[0].uid, jobs_.Find("a")->spec->uid);
}

TEST_F(MemberLookupTest, ALineThatNamesTwoUsersIsChargedToNone) {
  auto theirs = std::make_shared<JobSpec>(*JobOn("b", {0}));
  theirs->uid = 4711;
  jobs_.Add(JobOn("a", {0}));
  jobs_.Add(std::move(theirs));
  Series series;
  series.id.participants = {{"a", 7}, {"b", 7}};
  EXPECT_TRUE(lookup_.Resolve(step_, series));
  ASSERT_EQ(All<LogLine>(actions_).size(), 1u);
  EXPECT_EQ(All<LogLine>(actions_)[0].uid, std::nullopt);
}

}  // namespace
}  // namespace canopy::core
