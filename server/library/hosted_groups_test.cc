#include "server/library/hosted_groups.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/codec/encoder.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/core/collective/group_record.h"
#include "server/library/library_testing.h"

namespace canopy::library {
namespace {

using core::CollectiveOp;
using core::GroupRecord;

class HostedGroupsTest : public testing::Test {
 protected:
  HostedGroupsTest() {
    EXPECT_TRUE(jobs_.AddJob(JobOfTwoNodes("job")).ok());
    EXPECT_TRUE(jobs_.MakeSpec("job").ok());
  }

  static core::CollectiveUp Up(const GroupRecord& record,
                               std::vector<ProcId> procs = {
                                   {"job", kRankWildcard}}) {
    core::CollectiveUp up;
    up.id = {CollectiveOp::kGroupConstruct, std::move(procs), 0, "group"};
    up.contributions.push_back({kSelf, core::EncodeGroupRecord(record)});
    return up;
  }
  GroupRecord ResultOf(const core::CollectiveUp& up, const InfoList& answer) {
    const Result<Bytes> result = groups_.ResultOf(up, answer);
    EXPECT_TRUE(result.ok());
    return result.ok()
               ? core::DecodeGroupRecord(*result).value_or(GroupRecord())
               : GroupRecord();
  }

  HostedJobs jobs_;
  HostedGroups groups_{&jobs_};
};

GroupRecord Sharing(const std::string& text) {
  Encoder shared;
  const InfoList infos{{PMIX_GROUP_ENDPT_DATA, Value::ByteObject(text)}};
  shared.PutInfo(infos[0]);
  GroupRecord record;
  record.num_shared = 1;
  record.shared = shared.Take();
  return record;
}

TEST_F(HostedGroupsTest, IsOursReturnsTrueForLocalGroupsWithoutAContextId) {
  EXPECT_TRUE(groups_.IsOurs(Up({}, {{"job", 0}, {"job", 1}})));
  EXPECT_FALSE(groups_.IsOurs(Up({}, {{"job", 0}, {"job", 2}})));
  EXPECT_FALSE(groups_.IsOurs(Up({})));
  GroupRecord wants_context;
  wants_context.flags = core::kGroupAssignsContextId;
  EXPECT_FALSE(groups_.IsOurs(Up(wants_context, {{"job", 0}, {"job", 1}})));
}

TEST_F(HostedGroupsTest, TheHostGetsTheSharedDataOfEachMember) {
  GroupRecord record = Sharing("one");
  record.Merge(Sharing("other"));
  const InfoList asked{{PMIX_GROUP_ENDPT_DATA, Value::ByteObject("one")},
                       {PMIX_TIMEOUT, Value::Int(3)}};
  const InfoList infos = HostedGroups::DirectivesOf(Up(record), asked);
  ASSERT_EQ(infos.size(), 3u);
  EXPECT_EQ(infos.FindInt(PMIX_TIMEOUT), 3);
  EXPECT_EQ(Value::FromC(infos[1].value).AsBytes(), "one");
  EXPECT_EQ(Value::FromC(infos[2].value).AsBytes(), "other");
}

TEST_F(HostedGroupsTest, TheAnswerOfTheHostReplacesLocalData) {
  const InfoList answer{{PMIX_GROUP_ENDPT_DATA, Value::ByteObject("one")},
                        {PMIX_GROUP_ENDPT_DATA, Value::ByteObject("two")},
                        {PMIX_GROUP_CONTEXT_ID, Value::Size(17)}};
  GroupRecord record = Sharing("one");
  record.flags = core::kGroupAssignsContextId;
  const GroupRecord result = ResultOf(Up(record), answer);
  EXPECT_EQ(result.num_shared, 2u);
  EXPECT_EQ(result.context_id, 17u);
  EXPECT_TRUE(result.missing.empty());
  EXPECT_EQ(ResultOf(Up(Sharing("one")), {}).num_shared, 1u);
}

TEST_F(HostedGroupsTest, EachConstructGetsADifferentNumber) {
  const uint64_t first = ResultOf(Up({}), {}).made;
  EXPECT_NE(first, 0u);
  EXPECT_NE(ResultOf(Up({}), {}).made, first);
}

TEST_F(HostedGroupsTest, AMissingContextIdIsAnError) {
  GroupRecord record;
  record.flags = core::kGroupAssignsContextId;
  EXPECT_EQ(groups_.ResultOf(Up(record), {}).code(), kErrNotSupported);
}

TEST_F(HostedGroupsTest, ParticipantsOutsideTheMembershipAreMissing) {
  const std::vector<ProcId> members = {{"job", 0}, {"job", 3}};
  const InfoList answer{{PMIX_GROUP_MEMBERSHIP, Value::ProcArray(members)}};
  EXPECT_EQ(ResultOf(Up({}), answer).missing,
            (std::vector<ProcId>{{"job", 1}, {"job", 2}}));
  const InfoList malformed{{PMIX_GROUP_MEMBERSHIP, Value::String("all")}};
  EXPECT_EQ(groups_.ResultOf(Up({}), malformed).code(), kErrUnpackFailure);
}

TEST_F(HostedGroupsTest, ADestructNamesItsGroup) {
  GroupRecord record;
  record.made = 5;
  core::CollectiveUp up = Up(record);
  up.id.op = CollectiveOp::kGroupDestruct;
  EXPECT_EQ(ResultOf(up, {}).made, 5u);
}

}  // namespace
}  // namespace canopy::library
