#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "common/shm/barrier_participant.h"
#include "common/shm/barrier_server.h"

namespace canopy::shm {
namespace {

using Arrival = BarrierParticipant::Arrival;
using Ticket = BarrierParticipant::Ticket;

class BarrierTest : public ::testing::Test {
 protected:
  void Make(uint32_t ranks, bool local_only = true) {
    server_ = std::move(BarrierServer::Create(ranks, local_only)).value();
    for (uint32_t i = 0; i < ranks; ++i) members_.push_back(Member(i));
  }
  std::unique_ptr<BarrierParticipant> Member(uint32_t index) {
    auto member =
        BarrierParticipant::Map(server_->fd(), server_->size(), index);
    EXPECT_TRUE(member.ok());
    return std::move(member).value();
  }
  Arrival Arrive(uint32_t index, uint64_t wants = 0) {
    return members_[index]->Arrive(wants, &ticket_);
  }
  bool IsThrough(uint32_t index, const Ticket& ticket, int* status) {
    return members_[index]->Wait(ticket, 0, status);
  }

  std::unique_ptr<BarrierServer> server_;
  std::vector<std::unique_ptr<BarrierParticipant>> members_;
  Ticket ticket_;
};

TEST_F(BarrierTest, IsClosedAtFirst) {
  Make(2);
  EXPECT_EQ(Arrive(0), Arrival::kClosed);
}

TEST_F(BarrierTest, TheLastArrivalReleasesTheOtherRanks) {
  Make(3);
  server_->Open();
  for (int round = 0; round < 5; ++round) {
    int status = -1;
    EXPECT_EQ(Arrive(1), Arrival::kWait);
    const Ticket first = ticket_;
    EXPECT_TRUE(first.watch);
    EXPECT_EQ(Arrive(2), Arrival::kWait);
    EXPECT_FALSE(IsThrough(1, first, &status));
    EXPECT_FALSE(server_->IsFull());
    EXPECT_EQ(Arrive(0), Arrival::kReleased);
    EXPECT_TRUE(IsThrough(1, first, &status));
    EXPECT_EQ(status, kSuccess);
  }
}

TEST_F(BarrierTest, TheOnlyRankIsReleasedAtOnce) {
  Make(1);
  server_->Open();
  EXPECT_EQ(Arrive(0), Arrival::kReleased);
  EXPECT_EQ(Arrive(0), Arrival::kReleased);
}

TEST_F(BarrierTest, TheLastArrivalReleasesRanksOfSeveralWords) {
  const uint32_t ranks = 3 * kBarrierRanksPerWord + 1;
  Make(ranks);
  server_->Open();
  for (int round = 0; round < 3; ++round) {
    for (uint32_t i = ranks - 1; i > 0; --i) {
      ASSERT_EQ(Arrive(i), Arrival::kWait) << i;
    }
    EXPECT_EQ(Arrive(0), Arrival::kReleased);
  }
}

TEST_F(BarrierTest, AfterCommitsTheAgentIsSignalled) {
  Make(2);
  server_->Open();
  members_[0]->commits()->fetch_add(1);
  EXPECT_EQ(Arrive(0, kBarrierSync), Arrival::kWait);
  EXPECT_EQ(Arrive(1), Arrival::kNotify);
  EXPECT_TRUE(server_->IsFull());
  EXPECT_EQ(server_->CommitsOf(0), 1u);
  EXPECT_EQ(server_->CommitsOf(1), 0u);
  EXPECT_EQ(server_->Close().ranks, (std::vector<uint32_t>{0, 1}));
  server_->Release(kSuccess);
  server_->Open();
  // The next arrival has no requests.
  EXPECT_EQ(Arrive(0), Arrival::kWait);
  EXPECT_EQ(Arrive(1), Arrival::kReleased);
}

TEST_F(BarrierTest, ABarrierOfSeveralNodesNotifiesTheAgent) {
  Make(2, /*local_only=*/false);
  server_->Open();
  EXPECT_EQ(Arrive(0, kBarrierCollect), Arrival::kWait);
  const Ticket ticket = ticket_;
  EXPECT_EQ(Arrive(1), Arrival::kNotify);
  const BarrierServer::Taken taken = server_->Close();
  EXPECT_EQ(taken.ranks.size(), 2u);
  EXPECT_TRUE(taken.collect);
  int status = -1;
  EXPECT_FALSE(IsThrough(0, ticket, &status));
  server_->Release(kErrTimeout);
  EXPECT_TRUE(IsThrough(0, ticket, &status));
  EXPECT_EQ(status, kErrTimeout);
}

TEST_F(BarrierTest, ArrivedRanksWaitForReleaseWhenItCloses) {
  Make(3);
  server_->Open();
  EXPECT_EQ(Arrive(2), Arrival::kWait);
  const Ticket ticket = ticket_;
  const BarrierServer::Taken taken = server_->Close();
  EXPECT_EQ(taken.ranks, std::vector<uint32_t>{2});
  EXPECT_FALSE(taken.collect);
  EXPECT_EQ(Arrive(0), Arrival::kClosed);
  EXPECT_EQ(Arrive(1), Arrival::kClosed);
  EXPECT_TRUE(server_->Close().ranks.empty());
  int status = -1;
  EXPECT_FALSE(IsThrough(2, ticket, &status));
  server_->Release(kSuccess);
  EXPECT_TRUE(IsThrough(2, ticket, &status));
  EXPECT_EQ(status, kSuccess);
  EXPECT_EQ(Arrive(2), Arrival::kClosed);
  server_->Open();
  EXPECT_EQ(Arrive(0), Arrival::kWait);
  EXPECT_EQ(Arrive(1), Arrival::kWait);
  EXPECT_EQ(Arrive(2), Arrival::kReleased);
}

TEST_F(BarrierTest, TheBarrierReopensInEvenAndOddGenerations) {
  Make(2);
  server_->Open();
  for (int round = 0; round < 6; ++round) {
    ASSERT_EQ(Arrive(0), Arrival::kWait) << round;
    ASSERT_EQ(server_->Close().ranks, std::vector<uint32_t>{0}) << round;
    ASSERT_EQ(Arrive(1), Arrival::kClosed);
    server_->Release(kSuccess);
    server_->Open();
    if (round % 2 == 0) {
      ASSERT_EQ(Arrive(1), Arrival::kWait) << round;
      ASSERT_EQ(Arrive(0), Arrival::kReleased) << round;
    }
  }
}

TEST_F(BarrierTest, GiveUpOfOneRankReleasesAllWithAnError) {
  Make(3);
  server_->Open();
  EXPECT_EQ(Arrive(1), Arrival::kWait);
  const Ticket first = ticket_;
  EXPECT_EQ(Arrive(2), Arrival::kWait);
  EXPECT_TRUE(first.watch);
  EXPECT_TRUE(ticket_.watch) << "the first two do";
  int status = kSuccess;
  EXPECT_FALSE(members_[1]->Wait(first, 1, &status)) << "nothing happened";
  members_[1]->GiveUp(first, kErrLostConnection);
  EXPECT_TRUE(IsThrough(1, first, &status));
  EXPECT_EQ(status, kErrLostConnection);
  status = kSuccess;
  EXPECT_TRUE(IsThrough(2, ticket_, &status));
  EXPECT_EQ(status, kErrLostConnection);
  EXPECT_EQ(Arrive(0), Arrival::kClosed);
  members_[2]->GiveUp(ticket_, kErrTimeout);
  EXPECT_EQ(Arrive(0), Arrival::kClosed);
}

TEST_F(BarrierTest, GivingUpCorruptsTheBarrier) {
  Make(2);
  server_->Open();
  EXPECT_EQ(Arrive(0), Arrival::kWait);
  members_[0]->GiveUp(ticket_, kErrLostConnection);
  const BarrierServer::Taken taken = server_->Close();
  EXPECT_TRUE(taken.corrupted);
  EXPECT_TRUE(taken.ranks.empty()) << "1 looks as if it had arrived";
}

TEST_F(BarrierTest, GivingUpAfterTheCloseCorruptsTheBarrier) {
  Make(2);
  server_->Open();
  EXPECT_EQ(Arrive(0), Arrival::kWait);
  EXPECT_FALSE(server_->Close().corrupted);
  members_[0]->GiveUp(ticket_, kErrLostConnection);
  EXPECT_FALSE(server_->Open());
  EXPECT_EQ(Arrive(1), Arrival::kClosed);
}

TEST_F(BarrierTest, TheRequestsOfAnArrivalSurviveCloseAndOpen) {
  Make(2, /*local_only=*/true);
  server_->Open();
  EXPECT_EQ(Arrive(0, kBarrierSync), Arrival::kWait);
  ASSERT_EQ(server_->Close().ranks.size(), 1u);
  EXPECT_TRUE(server_->Open());
  EXPECT_EQ(Arrive(0), Arrival::kWait);
  EXPECT_EQ(Arrive(1), Arrival::kNotify);
}

// Ends the fence and dies before it wakes the other participants.
void EndFenceInSilence(const BarrierServer& server) {
  void* base = mmap(nullptr, server.size(), PROT_READ | PROT_WRITE, MAP_SHARED,
                    server.fd(), 0);
  ASSERT_NE(base, MAP_FAILED);
  static_cast<BarrierHeader*>(base)->state.store(BarrierState(1, false));
  munmap(base, server.size());
}

// The watcher finds the end during its sleep, between two sleeps, or before the
// first one.
TEST_F(BarrierTest, TheFirstTwoRanksWakeASleepingRank) {
  Make(4);
  server_->Open();
  std::vector<Ticket> tickets(3);
  for (uint32_t i = 0; i < 3; ++i) {
    ASSERT_EQ(members_[i]->Arrive(0, &tickets[i]), Arrival::kWait);
    EXPECT_EQ(tickets[i].watch, i < 2) << i;
  }
  std::thread sleeper([&] {
    int status = -1;
    EXPECT_TRUE(members_[2]->Wait(tickets[2], BarrierView::kForever, &status));
    EXPECT_EQ(status, kSuccess);
  });
  int status = -1;
  EXPECT_FALSE(members_[1]->Wait(tickets[1], 1'000'000, &status));
  EndFenceInSilence(*server_);
  EXPECT_TRUE(members_[1]->Wait(tickets[1], BarrierView::kForever, &status));
  EXPECT_EQ(status, kSuccess);
  sleeper.join();
}

TEST_F(BarrierTest, AWatcherThatIsNotWokenWakesTheOtherRanks) {
  Make(4);
  server_->Open();
  std::vector<Ticket> tickets(3);
  for (uint32_t i = 0; i < 3; ++i) {
    ASSERT_EQ(members_[i]->Arrive(0, &tickets[i]), Arrival::kWait);
  }
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      int status = -1;
      const int64_t patience =
          tickets[i].watch ? 20'000'000 : BarrierView::kForever;
      while (!members_[i]->Wait(tickets[i], patience, &status)) {
      }
      EXPECT_EQ(status, kSuccess);
    });
  }
  EndFenceInSilence(*server_);
  for (auto& thread : threads) thread.join();
}

TEST_F(BarrierTest, ASecondArrivalOfARankUsesMessages) {
  Make(2);
  server_->Open();
  EXPECT_EQ(Arrive(0), Arrival::kWait);
  EXPECT_EQ(Arrive(0), Arrival::kClosed);
  EXPECT_EQ(Arrive(1), Arrival::kReleased);
}

TEST_F(BarrierTest, TheBarrierIsStuckIfTwoChecksFindTheSameFence) {
  Make(2);
  EXPECT_FALSE(server_->IsStuck());
  server_->Open();
  EXPECT_FALSE(server_->IsStuck());
  EXPECT_FALSE(server_->IsStuck());
  Arrive(0);
  EXPECT_FALSE(server_->IsStuck());
  Arrive(1);
  Arrive(0);
  EXPECT_FALSE(server_->IsStuck());
  EXPECT_TRUE(server_->IsStuck());
}

TEST_F(BarrierTest, FilesThatAreNotABarrierAreRejected) {
  EXPECT_FALSE(BarrierServer::Create(0, true).ok());
  EXPECT_FALSE(BarrierServer::Create(kMaxBarrierRanks + 1, true).ok());
  Make(2);
  EXPECT_FALSE(BarrierParticipant::Map(server_->fd(), server_->size(), 2).ok());
  EXPECT_FALSE(
      BarrierParticipant::Map(server_->fd(), server_->size() + 1, 0).ok());
  EXPECT_FALSE(BarrierParticipant::Map(server_->fd(), 8, 0).ok());
  const UniqueFd other(memfd_create("other", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(other.get(), 4096), 0);
  EXPECT_FALSE(BarrierParticipant::Map(other.get(), 4096, 0).ok());
}

// Plays agent and core together: closes the barrier repeatedly, and ends the
// fence when all ranks have arrived, in the barrier or by message.
class Guardian {
 public:
  Guardian(BarrierServer* server, uint32_t ranks)
      : server_(server), ranks_(ranks), mail_(ranks) {}

  // Called by a rank: arrives by message and waits for the answer.
  void ArriveByMessage(uint32_t rank) {
    mail_[rank] = true;
    while (mail_[rank]) std::this_thread::yield();
  }

  void Round() {
    std::vector<bool> in(ranks_, false);
    const BarrierServer::Taken taken = server_->Close();
    for (const uint32_t rank : taken.ranks) in[rank] = true;
    do {
      std::this_thread::yield();
      for (uint32_t i = 0; i < ranks_; ++i) in[i] = in[i] || mail_[i];
      const auto count = std::ranges::count(in, true);
      if (count == 0) break;
      if (count < ranks_) continue;
      if (!taken.ranks.empty()) server_->Release(kSuccess);
      server_->Open();
      server_->Wake();
      for (auto& m : mail_) m = false;
      return;
    } while (true);
    server_->Open();
  }

 private:
  BarrierServer* const server_;
  const uint32_t ranks_;
  std::vector<std::atomic<bool>> mail_;
};

TEST_F(BarrierTest, FencesEndWhileTheAgentClosesAndOpensTheBarrier) {
  constexpr uint32_t kRanks = 4;
  constexpr int kFences = 2000;
  Make(kRanks);
  Guardian guardian(server_.get(), kRanks);
  std::atomic<int> entered[kRanks] = {};
  std::atomic<int> early{0};
  std::atomic<uint32_t> finished{0};
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kRanks; ++i) {
    threads.emplace_back([&, i] {
      for (int fence = 1; fence <= kFences; ++fence) {
        entered[i] = fence;
        Ticket ticket;
        int status = kSuccess;
        const Arrival arrival = members_[i]->Arrive(0, &ticket);
        if (arrival == Arrival::kClosed) {
          guardian.ArriveByMessage(i);
        } else if (arrival != Arrival::kReleased) {
          members_[i]->Wait(ticket, BarrierView::kForever, &status);
        }
        for (const auto& e : entered) early += e < fence ? 1 : 0;
        if (status != kSuccess) ++early;
      }
      ++finished;
    });
  }
  while (finished < kRanks) guardian.Round();
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(early, 0);
}

}  // namespace
}  // namespace canopy::shm
