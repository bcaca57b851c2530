#include "server/core/step/earlier_commits.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace canopy::core {
namespace {

using Procs = std::vector<ProcId>;

Procs CommittersBefore(const Input& input) {
  Procs out;
  ForEachEarlierCommitter(input,
                          [&](const ProcId& proc) { out.push_back(proc); });
  return out;
}

TEST(EarlierCommits, AGetDependsOnCommitsOfItsTarget) {
  GetArrived get;
  get.target = {"job", 3};
  EXPECT_EQ(CommittersBefore(get), (Procs{{"job", 3}}));
}

TEST(EarlierCommits, ADmodexRequestDependsOnCommitsOfItsTarget) {
  PeerArrived peer;
  peer.message.body = DmodexRequest{4, {"job", 2}, "key", 0, 0};
  EXPECT_EQ(CommittersBefore(peer), (Procs{{"job", 2}}));
  peer.message.body = CollectiveDown();
  EXPECT_EQ(CommittersBefore(peer), Procs());
}

TEST(EarlierCommits, ExitsDependOnCommitsOfTheEndedRanks) {
  LocalExits exits;
  exits.nspace = "job";
  exits.exits.resize(2);
  exits.exits[1].rank = 1;
  EXPECT_EQ(CommittersBefore(exits), (Procs{{"job", 0}, {"job", 1}}));
}

TEST(EarlierCommits, TicksAndCommitsDependOnNoCommit) {
  EXPECT_EQ(CommittersBefore(Tick()), Procs());
  EXPECT_EQ(CommittersBefore(CommitTaken{{"job", 0}, {}}), Procs());
}

}  // namespace
}  // namespace canopy::core
