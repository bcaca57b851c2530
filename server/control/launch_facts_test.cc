#include "server/control/launch_facts.h"

#include <gtest/gtest.h>

namespace canopy::control {
namespace {

TEST(LaunchFacts, OversubscriptionCanBeRequestedInTwoWays) {
  JobRequest request;
  EXPECT_FALSE(FactsOf(request, {}).oversubscribe);
  request.places.map_by = "node:oversubscribe";
  EXPECT_TRUE(FactsOf(request, {}).oversubscribe);
  request.places.map_by = "node";
  request.places.oversubscribe = true;
  EXPECT_TRUE(FactsOf(request, {}).oversubscribe);
}

TEST(LaunchFacts, ReportsOfATimeoutAreRecorded) {
  JobRequest request;
  EXPECT_EQ(FactsOf(request, {}).reports, 0u);
  request.reports = kTimeoutStates | kTimeoutStacks;
  EXPECT_EQ(FactsOf(request, {}).reports,
            uint32_t{kTimeoutStates | kTimeoutStacks});
}

TEST(LaunchFacts, AGrantOfNamedNodesIsRecorded) {
  Placed placed;
  EXPECT_FALSE(FactsOf(JobRequest(), placed).placed.any());
  placed.id.request = "request";
  placed.grant.nodes.resize(1);
  EXPECT_TRUE(FactsOf(JobRequest(), placed).placed.any());
}

}  // namespace
}  // namespace canopy::control
