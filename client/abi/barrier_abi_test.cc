// Fences of a process whose agent offers a barrier.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "client/abi/client_fixture.h"

namespace canopy::client {
namespace {

using local::FrameType;
using Arrival = shm::BarrierParticipant::Arrival;

class BarrierAbiTest : public testing::Test {
 protected:
  void Start(bool local_only) {
    agent_ = std::make_unique<FakeAgent>();
    agent_->OfferBarrier(local_only);
    ASSERT_EQ(PMIx_Init(&self_, nullptr, 0), PMIX_SUCCESS);
  }
  ~BarrierAbiTest() override {
    if (PMIx_Initialized()) {
      EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
    }
  }
  int Fence(const InfoList& infos = {}) {
    return PMIx_Fence(nullptr, 0, infos.data(), infos.size());
  }
  Arrival OtherArrives() {
    return agent_->other_participant().Arrive(0, &ticket_);
  }
  // Makes the agent release the barrier when it is notified that all have
  // arrived.
  void ReleaseOnRing(int status, std::atomic<bool>* collect = nullptr) {
    agent_->On(FrameType::kBarrierFull, [status, collect](FakeAgent& agent,
                                                          const Request&) {
      const shm::BarrierServer::Taken taken = agent.barrier().Close();
      if (collect != nullptr) *collect = taken.collect;
      agent.barrier().Release(status);
      agent.barrier().Wake();
    });
  }
  int Commit() {
    pmix_value_t value = {};
    value.type = PMIX_BOOL;
    value.data.flag = true;
    EXPECT_EQ(PMIx_Put(PMIX_GLOBAL, "key", &value), PMIX_SUCCESS);
    return PMIx_Commit();
  }

  std::unique_ptr<FakeAgent> agent_;
  pmix_proc_t self_ = {};
  shm::BarrierParticipant::Ticket ticket_;
};

TEST_F(BarrierAbiTest, FencesOfOneNodeSendNoMessage) {
  Start(true);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(OtherArrives(), Arrival::kWait);
    EXPECT_EQ(Fence(), PMIX_SUCCESS);
  }
  EXPECT_EQ(agent_->Count(FrameType::kCollective), 0u);
  EXPECT_EQ(agent_->Count(FrameType::kBarrierFull), 0u);
}

TEST_F(BarrierAbiTest, AFenceWaitsForTheOtherRanks) {
  Start(true);
  std::thread other([&] {
    if (OtherArrives() == Arrival::kReleased) return;
    int status = -1;
    agent_->other_participant().Wait(ticket_, shm::BarrierView::kForever,
                                     &status);
    EXPECT_EQ(status, kSuccess);
  });
  EXPECT_EQ(Fence(), PMIX_SUCCESS);
  other.join();
}

TEST_F(BarrierAbiTest, AFenceOverTheJobsWildcardUsesTheBarrier) {
  Start(true);
  const pmix_proc_t all = Proc(agent_->nspace(), PMIX_RANK_WILDCARD);
  EXPECT_EQ(OtherArrives(), Arrival::kWait);
  EXPECT_EQ(PMIx_Fence(&all, 1, nullptr, 0), PMIX_SUCCESS);
  EXPECT_EQ(agent_->Count(FrameType::kCollective), 0u);
}

TEST_F(BarrierAbiTest, FencesOfSomeRanksOrWithATimeoutUseMessages) {
  Start(true);
  EXPECT_EQ(PMIx_Fence(&self_, 1, nullptr, 0), PMIX_SUCCESS);
  InfoList timeout;
  timeout.Add(PMIX_TIMEOUT, Value::Int(5));
  EXPECT_EQ(Fence(timeout), PMIX_SUCCESS);
  EXPECT_EQ(agent_->Count(FrameType::kCollective), 2u);
}

// A later fence must not overtake an earlier fence that the agent does not know
// yet.
TEST_F(BarrierAbiTest, AFenceBehindAPendingFenceUsesMessages) {
  Start(true);
  std::mutex mu;
  std::vector<Request> held;
  agent_->On(FrameType::kCollective,
             [&](FakeAgent& agent, const Request& request) {
               std::lock_guard<std::mutex> lock(mu);
               held.push_back(request);
               if (held.size() < 2) return;
               for (const Request& r : held) agent.Reply(r, PMIX_SUCCESS);
             });
  std::promise<int> end;
  const auto done = [](pmix_status_t status, void* promise) {
    static_cast<std::promise<int>*>(promise)->set_value(status);
  };
  ASSERT_EQ(PMIx_Fence_nb(nullptr, 0, nullptr, 0, done, &end), PMIX_SUCCESS);
  EXPECT_EQ(Fence(), PMIX_SUCCESS);
  EXPECT_EQ(end.get_future().get(), PMIX_SUCCESS);
  EXPECT_EQ(agent_->Count(FrameType::kCollective), 2u);
  EXPECT_EQ(OtherArrives(), Arrival::kWait);
  EXPECT_EQ(Fence(), PMIX_SUCCESS);
  EXPECT_EQ(agent_->Count(FrameType::kCollective), 2u) << "the gate again";
}

TEST_F(BarrierAbiTest, FencesUseMessagesWhileTheBarrierIsClosed) {
  Start(true);
  agent_->barrier().Close();
  EXPECT_EQ(Fence(), PMIX_SUCCESS);
  EXPECT_EQ(agent_->Count(FrameType::kCollective), 1u);
}

TEST_F(BarrierAbiTest, TheAgentReadsCommitsBeforeItReleasesAFence) {
  Start(true);
  ReleaseOnRing(kSuccess);
  EXPECT_EQ(Commit(), PMIX_SUCCESS);
  EXPECT_EQ(OtherArrives(), Arrival::kWait);
  EXPECT_EQ(Fence(), PMIX_SUCCESS);
  EXPECT_EQ(agent_->Count(FrameType::kBarrierFull), 1u);
  EXPECT_EQ(agent_->Count(FrameType::kCommit), 1u);
  EXPECT_EQ(agent_->barrier().CommitsOf(0), 1u);
  agent_->barrier().Open();
  EXPECT_EQ(OtherArrives(), Arrival::kWait);
  EXPECT_EQ(Fence(), PMIX_SUCCESS);
  EXPECT_EQ(agent_->Count(FrameType::kBarrierFull), 1u)
      << "nothing to wait for";
}

TEST_F(BarrierAbiTest, AFenceOfSeveralNodesNotifiesTheAgent) {
  Start(false);
  // Atomic for sanitizers, which do not see that the barrier orders the
  // accesses.
  std::atomic<bool> collect = false;
  ReleaseOnRing(kErrTimeout, &collect);
  EXPECT_EQ(OtherArrives(), Arrival::kWait);
  EXPECT_EQ(Fence(Flags({PMIX_COLLECT_DATA})), PMIX_ERR_TIMEOUT);
  EXPECT_TRUE(collect);
}

TEST_F(BarrierAbiTest, TheDeathOfTheAgentEndsAFence) {
  Start(false);
  agent_->On(FrameType::kBarrierFull,
             [](FakeAgent& agent, const Request&) { agent.Die(); });
  EXPECT_EQ(OtherArrives(), Arrival::kWait);
  // Rank 1 arrived first, so the barrier chooses it to check whether the agent
  // is alive.
  std::thread other([&] {
    int status = 0;
    while (!agent_->other_participant().Wait(ticket_, 1'000'000, &status)) {
      if (agent_->Count(FrameType::kBarrierFull) > 0) {
        agent_->other_participant().GiveUp(ticket_, kErrLostConnection);
      }
    }
  });
  EXPECT_EQ(Fence(), PMIX_ERR_LOST_CONNECTION);
  other.join();
}

TEST_F(BarrierAbiTest, TheFirstRankChecksWhetherTheAgentLives) {
  Start(false);
  agent_->Die();
  EXPECT_EQ(Fence(), PMIX_ERR_LOST_CONNECTION);
}

}  // namespace
}  // namespace canopy::client
