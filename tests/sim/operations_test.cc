#include "tests/sim/operations.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/codec/encoder.h"
#include "common/status.h"
#include "pmix_common.h"
#include "server/core/query/query_testing.h"
#include "tests/sim/cluster.h"

namespace canopy::sim {
namespace {

constexpr uint32_t kNodes = 5;

// Follows the operations of a cluster, event by event.
class OperationsTest : public testing::Test {
 protected:
  OperationsTest() {
    cluster_.hooks().on_request = [this](const ProcId& proc, RequestId request,
                                         const core::Input& in, bool) {
      operations_.OnRequest(proc, request, in);
    };
    cluster_.hooks().on_input = [this](NodeId node, const core::Input& in) {
      operations_.OnInput(node, in);
    };
    cluster_.hooks().on_actions = [this](NodeId node, const core::Actions& a) {
      operations_.OnActions(node, a);
    };
    cluster_.hooks().on_answer = [this](RequestId request) {
      operations_.OnReceived(request, cluster_.clients().StatusOf(request));
    };
    cluster_.LaunchConnected(MakeJob("a", kNodes, 1));
    cluster_.LaunchConnected(MakeJob("b", {1, 3}));
  }

  // Returns the phases of the request's operation, in order.
  std::vector<Phase> PhasesOf(RequestId request) {
    std::vector<Phase> out;
    do {
      const Operation* o = operations_.FindRequest(request);
      if (o == nullptr) continue;
      const Phase phase = operations_.PhaseOf(*o);
      if (out.empty() || out.back() != phase) out.push_back(phase);
    } while (cluster_.RunOne());
    return out;
  }

  Cluster cluster_{kNodes, 2, 1};
  Operations operations_{
      [this](const ProcId& proc) { return cluster_.NodeOf(proc); }};
};

TEST_F(OperationsTest, ASpawnPassesItsPhases) {
  EXPECT_EQ(PhasesOf(cluster_.clients().Spawn({"a", 4}, SpawnCallFor({2}))),
            (std::vector<Phase>{Phase::kSpawnRequested, Phase::kSpawnExecuting,
                                Phase::kSpawnAnswering}));
}

TEST_F(OperationsTest, AConnectOfTwoJobsPassesItsPhases) {
  const std::vector<ProcId> some{{"a", 0}, {"b", 1}};
  const auto connect = core::CollectiveOp::kConnect;
  const RequestId first = cluster_.clients().Collective(connect, some[1], some);
  const std::vector<Phase> before = PhasesOf(first);
  ASSERT_FALSE(before.empty());
  EXPECT_EQ(before.back(), Phase::kConnectGathering);
  (void)cluster_.clients().Collective(connect, some[0], some);
  EXPECT_EQ(PhasesOf(first),
            (std::vector<Phase>{Phase::kConnectReporting,
                                Phase::kConnectReleasing, Phase::kConnected}));
  const auto disconnect = core::CollectiveOp::kDisconnect;
  const RequestId end =
      cluster_.clients().Collective(disconnect, some[1], some);
  EXPECT_EQ(operations_.FindRequest(first), nullptr);
  (void)cluster_.clients().Collective(disconnect, some[0], some);
  EXPECT_EQ(PhasesOf(end), (std::vector<Phase>{Phase::kDisconnectReporting,
                                               Phase::kDisconnectReleasing}));
  EXPECT_EQ(operations_.FindRequest(end), nullptr);
}

TEST_F(OperationsTest, AWaitingLookupPassesItsPhases) {
  const RequestId lookup = cluster_.clients().Lookup({"a", 2}, {"key"}, 60);
  const std::vector<Phase> before = PhasesOf(lookup);
  ASSERT_FALSE(before.empty());
  EXPECT_EQ(before.back(), Phase::kLookupWaiting);
  const RequestId publish = cluster_.clients().Publish({"a", 4}, "key", true);
  EXPECT_EQ(PhasesOf(publish).back(), Phase::kPublished);
  EXPECT_EQ(cluster_.clients().StatusOf(lookup), kSuccess);
}

TEST_F(OperationsTest, AnAbortOfAnotherJobPassesItsPhases) {
  const RequestId abort =
      cluster_.clients().Abort({"a", 4}, 1, "why", {{"b", 0}});
  EXPECT_EQ(PhasesOf(abort),
            (std::vector<Phase>{Phase::kAbortRequested, Phase::kAbortEnding,
                                Phase::kAbortAnswering}));
}

TEST_F(OperationsTest, AGroupThatAMemberLeavesPassesItsPhases) {
  const std::vector<ProcId> some{{"a", 0}, {"a", 4}, {"b", 1}};
  const auto construct = core::CollectiveOp::kGroupConstruct;
  const auto destruct = core::CollectiveOp::kGroupDestruct;
  Clients& clients = cluster_.clients();
  const RequestId first = clients.Group(construct, some[1], "g", some);
  (void)clients.Group(construct, some[2], "g", some);
  EXPECT_EQ(PhasesOf(first).back(), Phase::kGroupGathering);
  (void)clients.Group(construct, some[0], "g", some);
  EXPECT_EQ(PhasesOf(first),
            (std::vector<Phase>{Phase::kGroupReporting, Phase::kGroupReleasing,
                                Phase::kGrouped}));
  EXPECT_EQ(PhasesOf(clients.LeaveGroup(some[1], "g")),
            std::vector<Phase>{Phase::kGroupLeaving});
  const RequestId end = clients.Group(destruct, some[0], "g", some);
  EXPECT_EQ(PhasesOf(end), std::vector<Phase>{Phase::kUngroupGathering});
  (void)clients.Group(destruct, some[2], "g", some);
  EXPECT_EQ(PhasesOf(end), (std::vector<Phase>{Phase::kUngroupReporting,
                                               Phase::kUngroupReleasing}));
  EXPECT_EQ(operations_.FindRequest(end), nullptr);
}

TEST_F(OperationsTest, AnEventPassesItsPhases) {
  constexpr uint8_t kGlobal = 5;
  EXPECT_EQ(PhasesOf(cluster_.clients().Raise({"a", 4}, -500, kGlobal)),
            (std::vector<Phase>{Phase::kEventSpreading, Phase::kEventKept}));
}

TEST_F(OperationsTest, ASignalForAnotherJobPassesItsPhases) {
  Encoder call;
  call.PutSize(1);
  call.PutString("pmix.jctrl.pause");
  call.PutUint32(0);
  call.PutUint16(PMIX_UNDEF);
  EXPECT_EQ(PhasesOf(cluster_.clients().ControlJob({"a", 4}, {{"b", 1}},
                                                   Bytes(call.Take()))),
            (std::vector<Phase>{Phase::kControlAsking, Phase::kControlActing,
                                Phase::kControlAnswering}));
}

TEST_F(OperationsTest, AQueryOfAllNodesPassesItsPhases) {
  EXPECT_EQ(PhasesOf(cluster_.clients().Query(
                {"a", 4}, core::Encoded({{{PMIX_QUERY_PROC_TABLE}}}))),
            (std::vector<Phase>{Phase::kQueryAsking, Phase::kQueryGathering}));
}

}  // namespace
}  // namespace canopy::sim
