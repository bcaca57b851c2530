#include "server/agent/membership/debug_daemons.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace canopy::agent {
namespace {

// Ranks 0 and 1 are on n0, rank 2 is on n1.
control::JobRecords Jobs() {
  JobSpec job;
  job.nspace = "job";
  job.uid = 7;
  job.nodes.resize(2);
  job.nodes[0].name = "n0";
  job.nodes[1].name = "n1";
  job.procs = {{0, 0, ""}, {0, 0, ""}, {1, 0, ""}};
  control::JobRecords jobs;
  jobs["job"].job = std::make_shared<const JobSpec>(job);
  return jobs;
}

JobRequest OfDebugger() {
  JobRequest request;
  request.apps.resize(1);
  request.apps[0].num_procs = 5;
  request.debug.in_init.emplace();
  return request;
}

// Returns the number of daemons on each node, such as "n0*2 n1*1", or the error
// code.
std::string Place(const DebugDaemons& daemons) {
  JobRequest request = OfDebugger();
  request.daemons = daemons;
  const Status status = PlaceDaemons(Jobs(), 7, &request);
  if (!status.ok()) return std::to_string(status.code());
  EXPECT_TRUE(request.places.tool);
  EXPECT_FALSE(request.debug.stops());
  EXPECT_EQ(request.debug.target, daemons.target);
  std::string out;
  uint32_t total = 0;
  for (const Host& host : request.apps[0].hosts) {
    if (!out.empty()) out += ' ';
    out += host.name + "*" + std::to_string(host.slots);
    total += host.slots;
  }
  EXPECT_EQ(request.apps[0].num_procs, total);
  return out;
}

TEST(DebugDaemonsTest, DaemonsRunOnTheNodesOfTheirTargets) {
  const ProcId all = {"job", kRankWildcard};
  EXPECT_EQ(Place({all}), "n0*2 n1*1");
  EXPECT_EQ(Place({all, 0, 2}), "n0*4 n1*2");
  EXPECT_EQ(Place({all, 1, 0}), "n0*1 n1*1");
  EXPECT_EQ(Place({all, 3, 0}), "n0*3 n1*3");
  EXPECT_EQ(Place({{"job", 2}}), "n1*1");
  EXPECT_EQ(Place({{"job", 0}, 2, 0}), "n0*2");
}

TEST(DebugDaemonsTest, InvalidDaemonRequestsAreRefused) {
  EXPECT_EQ(Place({{"other", kRankWildcard}}), std::to_string(kErrNotFound));
  EXPECT_EQ(Place({{"job", 3}}), std::to_string(kErrNotFound));
  EXPECT_EQ(Place({{"job", 0}, 1, 1}), std::to_string(kErrBadParam));
  JobRequest theirs = OfDebugger();
  theirs.daemons = DebugDaemons{{"job", 0}};
  EXPECT_EQ(PlaceDaemons(Jobs(), 8, &theirs).code(), kErrNoPermissions);
  EXPECT_TRUE(PlaceDaemons(Jobs(), 0, &theirs).ok());
  JobRequest two = OfDebugger();
  two.apps.resize(2);
  two.daemons = DebugDaemons{{"job", 0}};
  EXPECT_EQ(PlaceDaemons(Jobs(), 7, &two).code(), kErrBadParam);
}

}  // namespace
}  // namespace canopy::agent
