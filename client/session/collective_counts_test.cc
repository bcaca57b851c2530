#include "client/session/collective_counts.h"

#include <gtest/gtest.h>

#include <vector>

#include "common/describe.h"
#include "common/ids.h"
#include "common/local/collectives.h"
#include "common/local/greeting.h"
#include "common/status.h"

namespace canopy::client {
namespace {

using local::CollectiveOp;

std::string Request(CollectiveOp op, std::string_view name,
                    const std::vector<ProcView>& procs) {
  return wire::Encode(local::Collective{{op, name, procs}, true, 0, "infos"});
}

std::string Fence(const std::vector<ProcView>& procs) {
  return Request(CollectiveOp::kFence, {}, procs);
}

// Returns the counts of a kReattach as text, such as "1:job.0,=2;".
std::string Text(const std::string& payload) {
  local::Reattach frame;
  EXPECT_TRUE(wire::Decode(payload, &frame));
  std::string text;
  for (const auto& [series, ended] : frame.counts) {
    text += std::to_string(static_cast<int>(series.op)) + ":";
    if (!series.name.empty()) text += std::string(series.name) + ":";
    for (const ProcView& proc : series.participants) {
      text += std::string(proc.nspace) + "." + std::to_string(proc.rank) + ",";
    }
    text += "=" + std::to_string(ended) + ";";
  }
  return text;
}

TEST(CollectiveCountsTest, RefusedAndMalformedRequestsDoNotCount) {
  CollectiveCounts counts;
  EXPECT_EQ(Text(counts.Encode("job")), "");
  counts.Add(Fence({}), kErrBadParam);
  counts.Add("", kSuccess);
  counts.Add("\x0a\x7f", kSuccess);
  EXPECT_EQ(Text(counts.Encode("job")), "");
}

TEST(CollectiveCountsTest, FencesOfOneSetInAnyNotationShareACount) {
  CollectiveCounts counts;
  const std::string all = "job." + std::to_string(kRankWildcard) + ",";
  counts.AddWhole();
  counts.Add(Fence({}), kSuccess);
  counts.Add(Fence({{"job", kRankWildcard}}), kErrTimeout);
  counts.Add(Fence({{"job", 1}, {"job", 0}}), kSuccess);
  counts.Add(Fence({{"", 0}, {"job", 1}, {"job", 1}}), kSuccess);
  EXPECT_EQ(Text(counts.Encode("job")), "1:job.0,job.1,=2;1:" + all + "=3;");
}

TEST(CollectiveCountsTest, GroupOperationsAreCountedByName) {
  const std::string request =
      Request(CollectiveOp::kGroupConstruct, "g", {{"job", 3}});
  CollectiveCounts counts;
  counts.Add(request, kErrNotFound);
  EXPECT_EQ(Text(counts.Encode("job")), "");
  counts.Add(request, kSuccess);
  counts.Add(request, kErrPartialSuccess);
  EXPECT_EQ(Text(counts.Encode("job")), "4:g:job.3,=2;");
}

// The group's destruct may be in progress for others until the group can be
// constructed again.
TEST(CollectiveCountsTest, ALeaveCountsAsADestructAtTheNextConstruct) {
  const std::string construct =
      Request(CollectiveOp::kGroupConstruct, "g", {{"job", 3}});
  const std::string destruct =
      Request(CollectiveOp::kGroupDestruct, "g", {{"job", 3}});
  local::GroupCall call;
  call.step = local::GroupStep::kLeave;
  call.group = "g";
  const std::string leave = wire::Encode(call);
  CollectiveCounts counts;
  const auto text = [&] { return Text(counts.Encode("job")); };
  counts.Add(construct, kSuccess);
  counts.AddGroupCall(leave, kErrNotFound);
  counts.Add(construct, kSuccess);
  EXPECT_EQ(text(), "4:g:job.3,=2;");
  counts.AddGroupCall(leave, kSuccess);
  EXPECT_EQ(text(), "4:g:job.3,=2;");
  counts.Add(construct, kErrTimeout);
  EXPECT_EQ(text(), "4:g:job.3,=3;");
  counts.Add(construct, kSuccess);
  EXPECT_EQ(text(), "4:g:job.3,=4;5:g:job.3,=1;");
  counts.Add(destruct, kSuccess);
  EXPECT_EQ(text(), "4:g:job.3,=4;5:g:job.3,=2;");
}

}  // namespace
}  // namespace canopy::client
