#include "server/control/launch_facts.h"

#include <gtest/gtest.h>

#include "server/spawn/spawn_call.h"

namespace canopy::control {
namespace {

TEST(LaunchFacts, MoreProcessesThanSlotsAreAskedForInTwoWays) {
  v1::Launch launch;
  EXPECT_FALSE(FactsOf(launch, {}).oversubscribe);
  launch.set_map_by("node:oversubscribe");
  EXPECT_TRUE(FactsOf(launch, {}).oversubscribe);
  launch.set_map_by("node");
  launch.set_oversubscribe(true);
  EXPECT_TRUE(FactsOf(launch, {}).oversubscribe);
}

TEST(LaunchFacts, WhatIsToldOfAJobOutOfTime) {
  v1::Launch launch;
  EXPECT_EQ(FactsOf(launch, {}).reports, 0u);
  launch.set_states_on_timeout(true);
  launch.set_stacks_on_timeout(true);
  EXPECT_EQ(FactsOf(launch, {}).reports,
            uint32_t{spawn::kTimeoutStates | spawn::kTimeoutStacks});
}

TEST(LaunchFacts, APlaceThatWasGrantedByName) {
  Placed placed;
  EXPECT_FALSE(FactsOf({}, placed).placed.any());
  placed.id.request = "request";
  placed.grant.nodes.resize(1);
  EXPECT_TRUE(FactsOf({}, placed).placed.any());
}

}  // namespace
}  // namespace canopy::control
