// The behaviour of every PlacementPort whose decider is another program: a test
// suite that such an implementation instantiates besides PlacementContract.
#ifndef CANOPY_SERVER_PORTS_REMOTE_PLACEMENT_CONTRACT_TESTING_H_
#define CANOPY_SERVER_PORTS_REMOTE_PLACEMENT_CONTRACT_TESTING_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/status.h"
#include "server/ports/placement_contract_testing.h"
#include "server/ports/placement_port.h"

namespace canopy {

// A request that the decider has received.
struct HeardPlacement {
  PlacementId id;
  PlacementCaller caller;
  bool again = false;
};

enum class BadGrant { kNoNodes, kNodeTwice, kNoSlots, kBadVariable };

// A port whose decider may be silent, wrong or unreachable.
class RemotePlayedPlacement : public PlayedPlacement {
 public:
  // Returns the requests in the order of their arrival.
  virtual std::vector<HeardPlacement> Heard() = 0;
  // The next four functions answer request Heard()[call], whether or not it was
  // answered before.
  virtual void Queue(size_t call, const std::string& reason) = 0;
  virtual void Grant(size_t call, const std::string& host_job,
                     const std::vector<std::string>& nodes) = 0;
  virtual void GrantBadly(size_t call, BadGrant how) = 0;
  virtual void Refuse(size_t call, int status, const std::string& why) = 0;
  // Ends the call without an answer, with or without an error.
  virtual void End(size_t call, bool fails) = 0;
  virtual bool Cancelled(size_t call) = 0;
  // The notifications from the port, in order.
  virtual std::vector<PlacementId> LaunchedJobs() = 0;
  virtual std::vector<PlacementId> ReleasedJobs() = 0;
  virtual void GoAway() = 0;
  virtual void ComeBack() = 0;
};

class RemotePlacementContract
    : public testing::TestWithParam<PlacementKind<RemotePlayedPlacement>> {
 protected:
  void Start(bool places = true) {
    host_ = GetParam().make(places);
    host_->port()->set_listener(&ear_);
  }
  void Place(const std::string& name) {
    host_->port()->Place(ContractRequest(name));
  }
  void AwaitCalls(size_t count) {
    host_->RunUntil([&] { return host_->Heard().size() >= count; });
    ASSERT_EQ(host_->Heard().size(), count);
  }
  void AwaitDecision(const std::string& name) {
    host_->RunUntil([&] { return ear_.Decisions(name) > 0; });
    ASSERT_EQ(ear_.Decisions(name), 1u);
  }
  void AwaitReleased(size_t count) {
    host_->RunUntil([&] { return host_->ReleasedJobs().size() >= count; });
    ASSERT_EQ(host_->ReleasedJobs().size(), count);
  }
  // Places another job, which must be granted. All messages that were in flight
  // before have then arrived.
  void ExpectServed(const std::string& name) {
    const size_t calls = host_->Heard().size();
    Place(name);
    AwaitCalls(calls + 1);
    host_->Grant(calls, "its job", {"node1"});
    AwaitDecision(name);
    EXPECT_EQ(ear_.granted.back().first.request, name);
  }

  PlacementEar ear_;
  std::unique_ptr<RemotePlayedPlacement> host_;
};

TEST_P(RemotePlacementContract, TheDeciderGetsTheCallersIdentity) {
  Start();
  Place("job");
  AwaitCalls(1);
  const HeardPlacement heard = host_->Heard()[0];
  EXPECT_EQ(heard.id, (PlacementId{"job", 1}));
  EXPECT_EQ(heard.caller.uid, 10u);
  EXPECT_EQ(heard.caller.gid, 20u);
  EXPECT_EQ(heard.caller.process, (ProcId{"parent", 3}));
  EXPECT_FALSE(heard.again);
}

TEST_P(RemotePlacementContract, AQueuedJobWaitsForItsGrant) {
  Start();
  Place("job");
  AwaitCalls(1);
  host_->Queue(0, "no slots");
  host_->Queue(0, "still none");
  host_->RunUntil([&] { return ear_.queued.size() >= 2; });
  ASSERT_EQ(ear_.queued.size(), 2u);
  EXPECT_EQ(ear_.queued[1].second.reason, "still none");
  ExpectServed("other");
  EXPECT_EQ(ear_.Decisions("job"), 0u);
  host_->Grant(0, "7", {"node2", "node1"});
  AwaitDecision("job");
  const PlacementGrant& grant = ear_.granted.back().second;
  EXPECT_EQ(grant.host_job, "7");
  ASSERT_EQ(grant.nodes.size(), 2u);
  EXPECT_EQ(grant.nodes[0].name, "node2");
}

TEST_P(RemotePlacementContract, AnswersAfterTheFirstAreDropped) {
  Start();
  Place("job");
  AwaitCalls(1);
  host_->Grant(0, "7", {"node1"});
  host_->Grant(0, "8", {"node2"});
  host_->Queue(0, "late");
  host_->Refuse(0, kErrTimeout, "late");
  ExpectServed("other");
  EXPECT_EQ(ear_.Decisions("job"), 1u);
  EXPECT_EQ(ear_.granted[0].second.host_job, "7");
  EXPECT_TRUE(ear_.queued.empty());
}

TEST_P(RemotePlacementContract, ARefusalEndsTheWait) {
  Start();
  Place("job");
  AwaitCalls(1);
  host_->Refuse(0, kErrJobInsufficientResources, "too much");
  host_->Grant(0, "7", {"node1"});
  AwaitDecision("job");
  ExpectServed("other");
  EXPECT_EQ(ear_.Decisions("job"), 1u);
  ASSERT_EQ(ear_.refused.size(), 1u);
  EXPECT_EQ(ear_.refused[0].second.code(), kErrJobInsufficientResources);
}

TEST_P(RemotePlacementContract, AnInvalidGrantIsRefusedAndReleased) {
  Start();
  const BadGrant kinds[] = {BadGrant::kNoNodes, BadGrant::kNodeTwice,
                            BadGrant::kNoSlots, BadGrant::kBadVariable};
  size_t calls = 0;
  for (const BadGrant kind : kinds) {
    const std::string name = "job" + std::to_string(calls);
    Place(name);
    AwaitCalls(++calls);
    host_->GrantBadly(calls - 1, kind);
    AwaitDecision(name);
    EXPECT_EQ(ear_.refused.back().second.code(), kErrJobAllocFailed);
    AwaitReleased(calls);
    EXPECT_EQ(host_->ReleasedJobs().back().request, name);
  }
  ExpectServed("other");
}

TEST_P(RemotePlacementContract, ACancelledRequestGetsNoDecision) {
  Start();
  Place("job");
  AwaitCalls(1);
  host_->port()->Cancel({"job", 1});
  host_->RunUntil([&] { return host_->Cancelled(0); });
  EXPECT_TRUE(host_->Cancelled(0));
  AwaitReleased(1);
  EXPECT_EQ(host_->ReleasedJobs()[0], (PlacementId{"job", 1}));
  host_->Grant(0, "7", {"node1"});
  ExpectServed("other");
  EXPECT_EQ(ear_.Decisions("job"), 0u);
}

TEST_P(RemotePlacementContract, AReturningDeciderGetsWaitingRequestsAgain) {
  Start();
  Place("job");
  AwaitCalls(1);
  host_->GoAway();
  host_->RunUntil([&] { return !ear_.queued.empty(); });
  ASSERT_FALSE(ear_.queued.empty());
  EXPECT_FALSE(ear_.queued.back().second.reason.empty());
  host_->ComeBack();
  AwaitCalls(2);
  EXPECT_EQ(host_->Heard()[1].id, host_->Heard()[0].id);
  EXPECT_TRUE(host_->Heard()[1].again);
  host_->Grant(0, "6", {"node1"});
  host_->Grant(1, "7", {"node1"});
  AwaitDecision("job");
  EXPECT_EQ(ear_.granted[0].second.host_job, "7");
  ExpectServed("other");
}

TEST_P(RemotePlacementContract, ARequestToAnAbsentDeciderIsSentWhenItReturns) {
  Start();
  ExpectServed("other");
  host_->GoAway();
  Place("job");
  host_->RunUntil([&] { return !ear_.queued.empty(); });
  EXPECT_EQ(ear_.Decisions("job"), 0u);
  host_->ComeBack();
  AwaitCalls(2);
  host_->Grant(1, "7", {"node1"});
  AwaitDecision("job");
}

TEST_P(RemotePlacementContract, ACallThatEndsWithoutADecisionIsRepeated) {
  Start();
  Place("job");
  AwaitCalls(1);
  host_->End(0, false);
  AwaitCalls(2);
  EXPECT_EQ(ear_.Decisions("job"), 0u);
  host_->Grant(1, "7", {"node1"});
  AwaitDecision("job");
}

// A job stays queued if a call of the decider fails.
TEST_P(RemotePlacementContract, ACallThatFailsIsRepeated) {
  Start();
  Place("job");
  AwaitCalls(1);
  host_->End(0, true);
  AwaitCalls(2);
  EXPECT_EQ(ear_.Decisions("job"), 0u);
  EXPECT_EQ(host_->Heard()[1].id, host_->Heard()[0].id);
  EXPECT_TRUE(host_->Heard()[1].again);
  host_->Grant(1, "7", {"node1"});
  AwaitDecision("job");
  EXPECT_TRUE(ear_.refused.empty());
  ExpectServed("other");
}

TEST_P(RemotePlacementContract, ADeciderThatPlacesNoJobsGetsNoRequest) {
  Start(false);
  Place("job");
  AwaitDecision("job");
  EXPECT_EQ(ear_.refused.at(0).second.code(), kErrNotSupported);
  EXPECT_TRUE(host_->Heard().empty());
}

// Notifications arrive in the order of events; those that were lost are
// repeated.
TEST_P(RemotePlacementContract,
       AReturningDeciderGetsTheNotificationsThatItMissed) {
  Start();
  ExpectServed("job");
  host_->GoAway();
  host_->port()->Launched(ContractJob("job"), false);
  host_->port()->Changed("job", core::JobPhase::kRunning, 0);
  host_->port()->Released(ContractJob("job"), {});
  host_->ComeBack();
  AwaitReleased(1);
  ASSERT_EQ(host_->LaunchedJobs().size(), 1u);
  EXPECT_EQ(host_->LaunchedJobs()[0].request, "job");
  EXPECT_EQ(host_->ReleasedJobs()[0].request, "job");
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RemotePlacementContract);

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_REMOTE_PLACEMENT_CONTRACT_TESTING_H_
