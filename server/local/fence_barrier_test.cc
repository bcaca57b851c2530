#include "server/local/fence_barrier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "common/shm/barrier_participant.h"

namespace canopy::local {
namespace {

using Arrival = shm::BarrierParticipant::Arrival;

// Stores the inputs of the core.
class FakeSink : public InputSink {
 public:
  void OnInput(core::Input input) override {
    if (const auto* fence = std::get_if<core::LocalFenceArrived>(&input)) {
      core::CollectiveArrived arrived;
      arrived.collect_data = fence->collect_data;
      arrived.at_barrier = true;
      for (const core::ClientId client : fence->clients) {
        arrived.client = client;
        arrivals.push_back(arrived);
      }
      ++num_fences;
    } else {
      arrivals.push_back(std::get<core::CollectiveArrived>(input));
    }
    if (on_arrival) on_arrival();
  }
  std::vector<core::ClientId> Clients() const {
    std::vector<core::ClientId> out;
    for (const auto& a : arrivals) out.push_back(a.client);
    return out;
  }
  std::vector<core::CollectiveArrived> arrivals;  // one for each client
  int num_fences = 0;                             // LocalFenceArrived
  std::function<void()> on_arrival;
};

// Ranks 4, 6 and 9 are local; the client of rank R is 100 + R.
class FenceBarrierTest : public ::testing::Test {
 protected:
  void Make(bool local_only) {
    auto barrier = FenceBarrier::Create(
        {4, 6, 9}, local_only, &sink_,
        [this](std::function<void()> work) {
          deferred_.push_back(std::move(work));
        },
        [this](Rank rank) { looked_for_.push_back(rank); });
    ASSERT_TRUE(barrier.ok());
    barrier_ = std::move(barrier).value();
  }
  void MakeFull(bool local_only) {
    Make(local_only);
    for (const Rank rank : {4, 6, 9}) Admit(rank);
  }
  void Admit(Rank rank) {
    const int index = barrier_->Admit(rank, 100 + rank);
    ASSERT_GE(index, 0);
    auto member =
        shm::BarrierParticipant::Map(barrier_->fd(), barrier_->size(), index);
    ASSERT_TRUE(member.ok());
    members_[rank] = std::move(member).value();
  }
  Arrival Arrive(Rank rank, uint64_t wants = 0) {
    return members_[rank]->Arrive(wants, &tickets_[rank]);
  }
  // Returns the status of the fence for the rank; 99 while the fence has not
  // ended.
  int EndFor(Rank rank) {
    int status = 99;
    members_[rank]->Wait(tickets_[rank], 0, &status);
    return status;
  }
  // Starts a fence of that rank by a message.
  void ByMessage(Rank rank) {
    barrier_->OnMessage(rank);
    core::CollectiveArrived arrival;
    arrival.client = 100 + rank;
    arrival.request = 7;
    sink_.OnInput(arrival);
  }
  // Lets the core reply to all arrivals.
  void Answer(int status) {
    const auto arrivals = std::exchange(sink_.arrivals, {});
    for (const auto& a : arrivals) {
      if (a.at_barrier) {
        barrier_->OnReleased(static_cast<Rank>(a.client - 100), status);
      } else {
        barrier_->OnMessageDone(status);
      }
    }
  }

  // Ends the round of the loop.
  void RunDeferred() {
    for (const auto& work : std::exchange(deferred_, {})) work();
  }

  FakeSink sink_;
  std::vector<std::function<void()>> deferred_;
  std::vector<Rank> looked_for_;  // ranks whose commits were requested
  std::unique_ptr<FenceBarrier> barrier_;
  std::unique_ptr<shm::BarrierParticipant> members_[10];
  shm::BarrierParticipant::Ticket tickets_[10];
};

TEST_F(FenceBarrierTest, TheBarrierOpensWhenEveryRankHasAPlace) {
  Make(true);
  Admit(4);
  Admit(6);
  EXPECT_EQ(Arrive(4), Arrival::kClosed);
  Admit(9);
  EXPECT_EQ(Arrive(4), Arrival::kWait);
  EXPECT_EQ(barrier_->Admit(4, 200), -1) << "the place is taken";
  EXPECT_EQ(barrier_->Admit(5, 105), -1) << "no such rank";
}

TEST_F(FenceBarrierTest, FencesOfOneNodeDoNotReachTheCore) {
  MakeFull(true);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Arrive(9), Arrival::kWait);
    EXPECT_EQ(Arrive(4), Arrival::kWait);
    EXPECT_EQ(Arrive(6), Arrival::kReleased);
  }
  EXPECT_TRUE(sink_.arrivals.empty());
}

TEST_F(FenceBarrierTest, CommitsAreReadBeforeAnArrivalIsPassedOn) {
  MakeFull(true);
  sink_.on_arrival = [this] { EXPECT_EQ(looked_for_.size(), 2u); };
  Arrive(4);
  Arrive(6, shm::kBarrierSync);
  barrier_->OnMessage(9);
  EXPECT_EQ(looked_for_, (std::vector<Rank>{4, 6}));
  EXPECT_EQ(sink_.arrivals.size(), 2u);
}

TEST_F(FenceBarrierTest, MailboxesAreNotReadIfNoCommitsAreDue) {
  MakeFull(false);
  for (const Rank rank : {4, 6, 9}) Arrive(rank, shm::kBarrierCollect);
  barrier_->OnFull();
  EXPECT_EQ(sink_.arrivals.size(), 3u);
  EXPECT_EQ(sink_.num_fences, 1) << "all arrive by one input";
  EXPECT_TRUE(looked_for_.empty());
}

// If a rank were woken before the barrier opens, it would send its next fence
// as a message, and all other ranks would have to send messages too.
TEST_F(FenceBarrierTest, RanksAreWokenAfterTheBarrierOpens) {
  MakeFull(false);
  Arrive(4);
  Arrive(6);
  ByMessage(9);
  Answer(kSuccess);
  EXPECT_EQ(EndFor(4), kSuccess);
  ASSERT_EQ(deferred_.size(), 1u) << "nobody is woken before all is answered";
  EXPECT_EQ(Arrive(4), Arrival::kWait);
  RunDeferred();
}

// A thread of a rank waits while another one finalizes.
TEST_F(FenceBarrierTest, ARankThatLeavesWhileItWaitsGetsAnError) {
  MakeFull(true);
  Arrive(4);
  barrier_->OnGone(4, 104);
  EXPECT_EQ(EndFor(4), kErrLostConnection);
  Admit(4);
  EXPECT_EQ(Arrive(4), Arrival::kClosed) << "the gate holds a bad status";
}

TEST_F(FenceBarrierTest, ARankThatLeavesAWaitingFenceGetsItsStatus) {
  MakeFull(true);
  Arrive(4);
  Arrive(6);
  barrier_->OnGone(4, 104);
  EXPECT_EQ(EndFor(4), 99);
  EXPECT_EQ(sink_.Clients(), (std::vector<core::ClientId>{104, 106}));
  barrier_->OnReleased(6, kErrTimeout);
  EXPECT_EQ(EndFor(4), kErrTimeout);
  EXPECT_EQ(EndFor(6), kErrTimeout);
}

TEST_F(FenceBarrierTest, ARankThatGivesUpClosesTheBarrierForGood) {
  MakeFull(true);
  Arrive(4);
  members_[4]->GiveUp(tickets_[4], kErrLostConnection);
  ByMessage(6);
  EXPECT_EQ(sink_.Clients(), std::vector<core::ClientId>{106});
  ByMessage(4);
  ByMessage(9);
  Answer(kSuccess);
  EXPECT_EQ(Arrive(6), Arrival::kClosed);
}

// One thread of a rank commits while another thread of the rank arrives.
TEST_F(FenceBarrierTest, ACommitThatArrivesEarlyDoesNotDelayTheFence) {
  MakeFull(true);
  barrier_->OnCommit(4, 104);
  Arrive(4, shm::kBarrierSync);
  Arrive(6);
  EXPECT_EQ(Arrive(9), Arrival::kNotify);
  barrier_->OnFull();
  RunDeferred();
  EXPECT_EQ(EndFor(4), kSuccess);
}

TEST_F(FenceBarrierTest, CommitsAreReadBeforeTheRelease) {
  MakeFull(true);
  members_[4]->commits()->fetch_add(1);
  Arrive(4, shm::kBarrierSync);
  Arrive(6);
  barrier_->OnFull();
  barrier_->OnCommit(4, 104);
  EXPECT_EQ(EndFor(4), 99) << "not all are in";
  members_[9]->commits()->fetch_add(1);
  members_[9]->commits()->fetch_add(1);
  EXPECT_EQ(Arrive(9, shm::kBarrierSync), Arrival::kNotify);
  barrier_->OnFull();
  barrier_->OnCommit(9, 109);
  barrier_->OnCommit(9, 999);
  EXPECT_EQ(EndFor(4), 99) << "one is to come";
  barrier_->OnCommit(9, 109);
  EXPECT_EQ(EndFor(4), 99) << "they are queued, and not yet published";
  RunDeferred();
  EXPECT_EQ(EndFor(4), kSuccess);
  EXPECT_EQ(EndFor(9), kSuccess);
  EXPECT_TRUE(sink_.arrivals.empty());
  EXPECT_EQ(Arrive(4), Arrival::kWait);
}

TEST_F(FenceBarrierTest, CommitsAreReadBeforeTheCoreIsNotified) {
  MakeFull(true);
  members_[6]->commits()->fetch_add(1);
  Arrive(6, shm::kBarrierSync);
  Arrive(9);
  ByMessage(4);
  EXPECT_EQ(sink_.Clients(), (std::vector<core::ClientId>{109, 104}));
  barrier_->OnReleased(6, kSuccess);
  barrier_->OnCommit(6, 106);
  EXPECT_EQ(sink_.Clients(), (std::vector<core::ClientId>{109, 104, 106}));
  Answer(kSuccess);
  EXPECT_EQ(EndFor(6), kSuccess);
  EXPECT_EQ(EndFor(9), kSuccess);
}

TEST_F(FenceBarrierTest, CommitsOfDepartedRanksAreNotAwaited) {
  MakeFull(true);
  members_[6]->commits()->fetch_add(1);
  Arrive(6, shm::kBarrierSync);
  Arrive(9);
  EXPECT_EQ(Arrive(4), Arrival::kNotify);
  barrier_->OnFull();
  EXPECT_EQ(EndFor(9), 99);
  barrier_->OnGone(6, 106);
  RunDeferred();
  EXPECT_EQ(EndFor(9), kSuccess);
  EXPECT_EQ(Arrive(9), Arrival::kClosed);
}

TEST_F(FenceBarrierTest, DeferredWorkIsSafeAfterTheDestruction) {
  MakeFull(true);
  Arrive(4, shm::kBarrierSync);
  Arrive(6);
  Arrive(9);
  barrier_->OnFull();
  barrier_.reset();
  EXPECT_EQ(EndFor(4), kErrLostConnection);
  RunDeferred();
}

TEST_F(FenceBarrierTest, FencesWithOtherNodesGoThroughTheCore) {
  MakeFull(false);
  for (int i = 0; i < 3; ++i) {
    Arrive(4, shm::kBarrierCollect);
    Arrive(6);
    EXPECT_EQ(Arrive(9), Arrival::kNotify);
    barrier_->OnFull();
    EXPECT_EQ(sink_.Clients(), (std::vector<core::ClientId>{104, 106, 109}));
    EXPECT_TRUE(sink_.arrivals[0].collect_data);
    EXPECT_TRUE(sink_.arrivals[0].participants.empty());
    EXPECT_EQ(Arrive(4), Arrival::kClosed) << "the fence is not over";
    EXPECT_EQ(EndFor(6), 99);
    Answer(kSuccess);
    for (const Rank rank : {4, 6, 9}) EXPECT_EQ(EndFor(rank), kSuccess);
  }
}

TEST_F(FenceBarrierTest, AnArrivalByMessagePassesTheWaitingRanksToTheCore) {
  MakeFull(true);
  Arrive(6);
  ByMessage(4);
  EXPECT_EQ(sink_.Clients(), (std::vector<core::ClientId>{106, 104}));
  EXPECT_EQ(Arrive(9), Arrival::kClosed);
  ByMessage(9);
  Answer(kSuccess);
  EXPECT_EQ(EndFor(6), kSuccess);
  EXPECT_EQ(Arrive(6), Arrival::kWait) << "open again";
}

TEST_F(FenceBarrierTest, TheBarrierStaysClosedUntilAllMessagesAreAnswered) {
  MakeFull(true);
  ByMessage(4);
  barrier_->OnMessageDone(kSuccess);
  EXPECT_EQ(Arrive(6), Arrival::kClosed);
  ByMessage(6);
  ByMessage(9);
  barrier_->OnMessageDone(kSuccess);
  EXPECT_EQ(Arrive(6), Arrival::kClosed) << "one is not answered";
  barrier_->OnMessageDone(kSuccess);
  EXPECT_EQ(Arrive(6), Arrival::kWait);
}

TEST_F(FenceBarrierTest, AFailedFenceClosesTheBarrierForGood) {
  MakeFull(false);
  Arrive(4);
  Arrive(6);
  Arrive(9);
  barrier_->OnFull();
  Answer(kErrTimeout);
  EXPECT_EQ(EndFor(4), kErrTimeout);
  EXPECT_EQ(EndFor(9), kErrTimeout);
  EXPECT_EQ(Arrive(4), Arrival::kClosed);
}

TEST_F(FenceBarrierTest, ARankThatLeavesClosesTheBarrier) {
  MakeFull(true);
  Arrive(4);
  Arrive(9);
  barrier_->OnGone(9, 109);
  EXPECT_EQ(sink_.Clients(), (std::vector<core::ClientId>{104, 109}))
      << "what arrived before has arrived";
  EXPECT_EQ(Arrive(6), Arrival::kClosed);
  barrier_->OnReleased(4, kErrLostConnection);
  EXPECT_EQ(EndFor(4), kErrLostConnection);
}

TEST_F(FenceBarrierTest, TheEndOfAnotherConnectionKeepsTheBarrierOpen) {
  MakeFull(true);
  barrier_->OnGone(9, 1);
  EXPECT_EQ(Arrive(9), Arrival::kWait);
}

TEST_F(FenceBarrierTest, AReattachedProcessOpensTheBarrierAgain) {
  MakeFull(true);
  barrier_->OnGone(9, 109);
  EXPECT_EQ(Arrive(4), Arrival::kClosed);
  Admit(9);
  EXPECT_EQ(Arrive(4), Arrival::kWait);
}

TEST_F(FenceBarrierTest, AFenceThatTwoChecksFindWaitingIsPassedToTheCore) {
  MakeFull(true);
  Arrive(6);
  barrier_->Watch();
  EXPECT_TRUE(sink_.arrivals.empty());
  barrier_->Watch();
  EXPECT_EQ(sink_.Clients(), std::vector<core::ClientId>{106});
}

TEST_F(FenceBarrierTest, TheEndOfTheJobReleasesWaitingRanks) {
  MakeFull(true);
  Arrive(6);
  barrier_.reset();
  EXPECT_EQ(EndFor(6), kErrLostConnection);
}

TEST(IsWholeJobTest, AWholeJobMayBeNamedInSeveralForms) {
  EXPECT_TRUE(IsWholeJob("job", {}));
  EXPECT_TRUE(IsWholeJob("job", {{"job", kRankWildcard}}));
  EXPECT_TRUE(IsWholeJob("job", {{"", kRankWildcard}}));
  EXPECT_FALSE(IsWholeJob("job", {{"job", 0}}));
  EXPECT_FALSE(IsWholeJob("job", {{"other", kRankWildcard}}));
  EXPECT_FALSE(
      IsWholeJob("job", {{"job", kRankWildcard}, {"other", kRankWildcard}}));
}

}  // namespace
}  // namespace canopy::local
