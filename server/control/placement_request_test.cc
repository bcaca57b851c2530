#include "server/control/placement_request.h"

#include <gtest/gtest.h>

#include <string>

#include "server/control/control_testing.h"

namespace canopy::control {
namespace {

v1::Launch TwoPrograms() {
  v1::Launch launch;
  launch.add_apps()->add_argv("a");
  launch.mutable_apps(0)->add_argv("b");
  launch.mutable_apps(0)->set_num_procs(3);
  launch.add_apps()->add_argv("c");
  launch.mutable_apps(1)->set_num_procs(4);
  v1::HostSlots* const host = launch.add_hosts();
  host->set_name("n1");
  host->set_slots(2);
  host->set_slots_given(true);
  launch.set_timeout_seconds(60);
  return launch;
}

TEST(PlacementRequestTest, ALaunchTellsWhatItNeeds) {
  const PlacementRequest request = PlacementOf(TwoPrograms());
  EXPECT_EQ(request.num_slots, 7u);
  EXPECT_EQ(request.hosts.at(0).name, "n1");
  EXPECT_EQ(request.hosts.at(0).slots, 2u);
  EXPECT_EQ(request.time_limit_seconds, 60u);
  EXPECT_EQ(CommandOf(request), "a b : c");
  EXPECT_EQ(NumProcs(request), 7u);
}

TEST(PlacementRequestTest, OneProgramWithoutANumberWantsAllSlots) {
  v1::Launch launch = TwoPrograms();
  launch.mutable_apps(1)->set_num_procs(0);
  EXPECT_EQ(PlacementOf(launch).num_slots, 0u);
}

TEST(PlacementRequestTest, NamesOfRequestsAreThoseThatAgentsGive) {
  EXPECT_TRUE(IsRequestName("canopy-0123abcd-17"));
  EXPECT_FALSE(IsRequestName(""));
  EXPECT_FALSE(IsRequestName("other-1"));
  EXPECT_FALSE(IsRequestName("canopy-/../x"));
  EXPECT_FALSE(IsRequestName("canopy-" + std::string(249, 'a')));
  EXPECT_EQ(RequestNameOf({{"job", 3}, 8, {}}), "job.3.8");
}

TEST(PlacementRequestTest, APlacedJobTellsWhereItIs) {
  JobRecord record;
  record.job = Job("job");
  record.facts.placed = {{"request", 2}, "host job", 4, 5};
  const PlacedJob placed = PlacedJobOf(record);
  EXPECT_EQ(placed.id, (PlacementId{"request", 2}));
  EXPECT_EQ(placed.nodes.size(), 2u);
  EXPECT_EQ(placed.nodes.at(1).name, "n1");
  EXPECT_EQ(placed.nodes.at(1).procs, 1u);
  EXPECT_EQ(placed.queued_ms, 4);
  EXPECT_EQ(placed.started_ms, 5);
}

TEST(PlacementRequestTest, WithoutNamedNodesThereIsNothingToRelease) {
  EXPECT_FALSE(PlacementFactsOf({{"request", 1}, {}, 0, 0}).any());
}

}  // namespace
}  // namespace canopy::control
