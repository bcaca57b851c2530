#include "server/core/dispatch/engines.h"

#include <gtest/gtest.h>

#include <utility>

#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

constexpr TimeNs kMs = 1'000'000;

CoreConfig ConfigOfTwo() {
  CoreConfig config;
  config.node_names = {"a", "b"};
  config.about = "me";
  return config;
}

GetArrived GetOf(ClientId client, RequestId request, uint32_t timeout_ms) {
  GetArrived get;
  get.client = client;
  get.request = request;
  get.target = {"job", 0};
  get.key = "k";
  get.timeout_ms = timeout_ms;
  return get;
}

TEST(EnginesTest, ANewCoreHoldsNoResources) {
  const Engines e(ConfigOfTwo());
  EXPECT_EQ(e.Count(), ResourceCounts());
  EXPECT_EQ(e.NextDeadline(), kNever);
  EXPECT_TRUE(e.out.empty());
}

TEST(EnginesTest, NextDeadlineIsTheEarliestOfAllEngines) {
  Engines e(ConfigOfTwo());
  e.jobs.Add(JobOn("job", {0, 0}));
  ASSERT_TRUE(e.jobs.Connect(1, {"job", 0}));
  ASSERT_TRUE(e.jobs.Connect(2, {"job", 1}));
  CollectiveArrived fence;
  fence.client = fence.request = 1;
  fence.timeout_ms = 50;
  e.collectives.OnArrived({0, e.out}, fence);
  EXPECT_EQ(e.NextDeadline(), 50 * kMs);
  e.gets.OnGet({0, e.out}, GetOf(2, 2, 20));
  EXPECT_EQ(e.NextDeadline(), 20 * kMs);
  EXPECT_EQ(e.Count().deadlines, 1u);
  EXPECT_EQ(e.Count().gets, 1u);
}

TEST(EnginesTest, DescribesTheRequestedJob) {
  Engines e(ConfigOfTwo());
  e.jobs.Add(JobOn("job", {0, 0, 1}));
  e.jobs.Add(JobOn("other", {0}));
  ASSERT_TRUE(e.jobs.Connect(1, {"job", 0}));
  e.gets.OnGet({0, e.out}, GetOf(1, 1, 0));
  EXPECT_EQ(e.Describe(0, "status", "").jobs.size(), 2u);
  const StateAnswer status = e.Describe(0, "status", "job");
  EXPECT_EQ(status.about, "me");
  ASSERT_EQ(status.jobs.size(), 1u);
  EXPECT_EQ(status.jobs[0].num_procs, 3u);
  EXPECT_EQ(status.jobs[0].local_procs, 2u);
  EXPECT_EQ(status.jobs[0].connected, 1u);
  EXPECT_TRUE(status.waiting.empty());
  EXPECT_EQ(e.Describe(0, "why", "job").waiting.size(), 1u);
  EXPECT_TRUE(e.Describe(0, "why", "other").waiting.empty());
}

TEST(EnginesTest, OnlyAnAgentForwardsOutputAndInputCalls) {
  const Engines agent(ConfigOfTwo());
  EXPECT_TRUE(agent.Forwards(HostOp::kReadOutput));
  EXPECT_TRUE(agent.Forwards(HostOp::kPushInput));
  EXPECT_FALSE(agent.Forwards(HostOp::kJobControl));
  CoreConfig config = ConfigOfTwo();
  config.host_is_root = true;
  EXPECT_FALSE(Engines(config).Forwards(HostOp::kReadOutput));
}

// Process sets are announced by events.
TEST(EnginesTest, EventsReachTheEnginesThatObserveThem) {
  Engines e(ConfigOfTwo());
  e.jobs.Add(JobOn("job", {0, 0}));
  e.events.RaiseForAll({0, e.out},
                       e.sets.Define({"job", 0}, 1, "set", {{"job", 1}}));
  EXPECT_EQ(e.Count().process_sets, 1u);
}

TEST(EnginesTest, EventsOfProcessesArePersistedIfConfigured) {
  for (const bool persists : {false, true}) {
    CoreConfig config = ConfigOfTwo();
    config.persists = persists;
    Engines e(std::move(config));
    e.jobs.Add(JobOn("job", {0, 0}));
    e.events.RaiseForAll({0, e.out},
                         e.sets.Define({"job", 0}, 1, "set", {{"job", 1}}));
    EXPECT_EQ(!All<PersistRecord>(e.out).empty(), persists);
  }
}

}  // namespace
}  // namespace canopy::core
