#include "server/control/placement_request.h"

#include <gtest/gtest.h>

#include <string>

#include "server/control/control_testing.h"

namespace canopy::control {
namespace {

JobRequest TwoPrograms() {
  JobRequest job;
  job.apps.resize(2);
  job.apps[0].argv = {"a", "b"};
  job.apps[0].num_procs = 3;
  job.apps[1].argv = {"c", "it's two words"};
  job.apps[1].num_procs = 4;
  return job;
}

TEST(PlacementRequestTest, ALaunchStatesItsRequirements) {
  const PlacementRequest request = PlacementOf(TwoPrograms(), OwnUser());
  EXPECT_EQ(request.num_slots, 7u);
  EXPECT_EQ(CommandOf(request), "a b : c 'it'\\''s two words'");
  EXPECT_EQ(NumProcs(request), 7u);
}

TEST(PlacementRequestTest, AProgramWithoutANumberOfProcessesRequestsAllSlots) {
  JobRequest job = TwoPrograms();
  job.apps[1].num_procs = 0;
  EXPECT_EQ(PlacementOf(job, OwnUser()).num_slots, 0u);
}

TEST(PlacementRequestTest, IsRequestNameRejectsOtherNames) {
  EXPECT_TRUE(IsRequestName("canopy-0123abcd-17"));
  EXPECT_FALSE(IsRequestName(""));
  EXPECT_FALSE(IsRequestName("other-1"));
  EXPECT_FALSE(IsRequestName("canopy-/../x"));
  EXPECT_FALSE(IsRequestName("canopy-" + std::string(249, 'a')));
  EXPECT_EQ(RequestNameOf({{"job", 3}, 8, {}}), "job.3.8");
}

TEST(PlacementRequestTest, PlacedJobOfReturnsTheNodesAndTimesOfAJob) {
  JobRecord record;
  record.job = Job("job");
  record.facts.placed = {{"request", 2}, "host job", 4, 5, "caller"};
  const PlacedJob placed = PlacedJobOf(record);
  EXPECT_EQ(placed.id, (PlacementId{"request", 2}));
  EXPECT_EQ(placed.nodes.size(), 2u);
  EXPECT_EQ(placed.nodes.at(1).name, "n1");
  EXPECT_EQ(placed.nodes.at(1).procs, 1u);
  EXPECT_EQ(placed.queued_ms, 4);
  EXPECT_EQ(placed.started_ms, 5);
  EXPECT_EQ(placed.caller.host_job, "caller");
}

TEST(PlacementRequestTest, TheFactsOfAGrantWithoutNodesAreEmpty) {
  EXPECT_FALSE(PlacementFactsOf({{"request", 1}, {}, 0, 0}).any());
}

}  // namespace
}  // namespace canopy::control
