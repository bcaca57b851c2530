#include "client/session/collective_counts.h"

#include <gtest/gtest.h>

#include <vector>

#include "common/ids.h"
#include "common/status.h"
#include "common/wire.h"

namespace canopy::client {
namespace {

std::string Fence(const std::vector<ProcId>& procs) {
  WireWriter out;
  out.Uint(1);
  out.Uint(procs.size());
  for (const ProcId& proc : procs) out.Proc(proc);
  out.Bool(true);
  out.Uint(0);
  out.String("");
  return out.Take();
}

std::string Text(const std::string& payload) {
  WireReader in(payload);
  std::string text;
  const size_t n = in.Count(3);
  for (size_t i = 0; i < n; ++i) {
    text += std::to_string(in.Uint()) + ":";
    const size_t m = in.Count(2);
    for (size_t j = 0; j < m; ++j) {
      const ProcId proc = in.Proc();
      text += proc.nspace + "." + std::to_string(proc.rank) + ",";
    }
    text += "=" + std::to_string(in.Uint()) + ";";
  }
  EXPECT_TRUE(in.done());
  return text;
}

// A successor must be able to tell "none has ended" from "nothing is known".
TEST(CollectiveCountsTest, NothingEndedIsAnEmptyList) {
  CollectiveCounts counts;
  EXPECT_EQ(Text(counts.Encode("job")), "");
  counts.Add(Fence({}), kErrBadParam);
  counts.Add("", kSuccess);
  EXPECT_EQ(Text(counts.Encode("job")), "");
  EXPECT_FALSE(counts.Encode("job").empty());
}

TEST(CollectiveCountsTest, OneSetHasOneNumberHoweverItIsNamed) {
  CollectiveCounts counts;
  const std::string all = "job." + std::to_string(kRankWildcard) + ",";
  counts.AddWhole();
  counts.Add(Fence({}), kSuccess);
  counts.Add(Fence({{"job", kRankWildcard}}), kErrTimeout);
  counts.Add(Fence({{"job", 1}, {"job", 0}}), kSuccess);
  counts.Add(Fence({{"", 0}, {"job", 1}, {"job", 1}}), kSuccess);
  EXPECT_EQ(Text(counts.Encode("job")), "1:job.0,job.1,=2;1:" + all + "=3;");
}

// Agents that do not know groups get no group counts if there were none.
TEST(CollectiveCountsTest, GroupsFollowWithTheirNames) {
  WireWriter request;
  request.Uint(4);
  request.String("g");
  request.Uint(1);
  request.Proc({"job", 3});
  const std::string series = request.str();
  request.Uint(0);
  request.String("");
  CollectiveCounts counts;
  const std::string none = counts.Encode("job");
  counts.AddGroup(request.str(), kErrNotFound);
  EXPECT_EQ(counts.Encode("job"), none);
  counts.AddGroup(request.str(), kSuccess);
  counts.AddGroup(request.str(), kErrPartialSuccess);
  WireWriter want;
  want.Raw(none);
  want.Uint(1);
  want.Raw(series);
  want.Uint(2);
  EXPECT_EQ(counts.Encode("job"), want.str());
}

std::string GroupRequest(uint64_t op, const std::string& name) {
  WireWriter request;
  request.Uint(op);
  request.String(name);
  request.Uint(1);
  request.Proc({"job", 3});
  return request.Take();
}

// The group's destruct may be in progress for others until the group can be
// constructed again.
TEST(CollectiveCountsTest, WhoLeavesAGroupHasItsEndBehindIt) {
  constexpr uint64_t kConstruct = 4;
  constexpr uint64_t kDestruct = 5;
  WireWriter leave;
  leave.Uint(3);
  leave.String("g");
  CollectiveCounts counts;
  const auto expect = [&](uint64_t constructs, uint64_t ends) {
    WireWriter want;
    want.Uint(0);
    want.Uint(ends > 0 ? 2 : 1);
    want.Raw(GroupRequest(kConstruct, "g"));
    want.Uint(constructs);
    if (ends > 0) want.Raw(GroupRequest(kDestruct, "g"));
    if (ends > 0) want.Uint(ends);
    EXPECT_EQ(counts.Encode("job"), want.str());
  };
  counts.AddGroup(GroupRequest(kConstruct, "g"), kSuccess);
  counts.AddGroupCall(leave.str(), kErrNotFound);
  counts.AddGroup(GroupRequest(kConstruct, "g"), kSuccess);
  expect(2, 0);
  counts.AddGroupCall(leave.str(), kSuccess);
  expect(2, 0);
  counts.AddGroup(GroupRequest(kConstruct, "g"), kErrTimeout);
  expect(3, 0);
  counts.AddGroup(GroupRequest(kConstruct, "g"), kSuccess);
  expect(4, 1);
  counts.AddGroup(GroupRequest(kDestruct, "g"), kSuccess);
  expect(4, 2);
}

}  // namespace
}  // namespace canopy::client
