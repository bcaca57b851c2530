#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "common/shm/gate_keeper.h"
#include "common/shm/gate_member.h"

namespace canopy::shm {
namespace {

using Arrival = GateMember::Arrival;
using Ticket = GateMember::Ticket;

class GateTest : public ::testing::Test {
 protected:
  void Make(uint32_t ranks, bool local_only = true) {
    keeper_ = std::move(GateKeeper::Create(ranks, local_only)).value();
    for (uint32_t i = 0; i < ranks; ++i) members_.push_back(Member(i));
  }
  std::unique_ptr<GateMember> Member(uint32_t index) {
    auto member = GateMember::Map(keeper_->fd(), keeper_->size(), index);
    EXPECT_TRUE(member.ok());
    return std::move(member).value();
  }
  Arrival Arrive(uint32_t index, uint64_t wants = 0) {
    return members_[index]->Arrive(wants, &ticket_);
  }
  bool IsThrough(uint32_t index, const Ticket& ticket, int* status) {
    return members_[index]->Wait(ticket, 0, status);
  }

  std::unique_ptr<GateKeeper> keeper_;
  std::vector<std::unique_ptr<GateMember>> members_;
  Ticket ticket_;
};

TEST_F(GateTest, IsClosedAtFirst) {
  Make(2);
  EXPECT_EQ(Arrive(0), Arrival::kClosed);
}

TEST_F(GateTest, TheLastOneReleases) {
  Make(3);
  keeper_->Open();
  for (int round = 0; round < 5; ++round) {
    int status = -1;
    EXPECT_EQ(Arrive(1), Arrival::kWait);
    const Ticket first = ticket_;
    EXPECT_TRUE(first.watch);
    EXPECT_EQ(Arrive(2), Arrival::kWait);
    EXPECT_FALSE(IsThrough(1, first, &status));
    EXPECT_FALSE(keeper_->IsFull());
    EXPECT_EQ(Arrive(0), Arrival::kReleased);
    EXPECT_TRUE(IsThrough(1, first, &status));
    EXPECT_EQ(status, kSuccess);
  }
}

TEST_F(GateTest, OneRankAlone) {
  Make(1);
  keeper_->Open();
  EXPECT_EQ(Arrive(0), Arrival::kReleased);
  EXPECT_EQ(Arrive(0), Arrival::kReleased);
}

TEST_F(GateTest, SeveralWords) {
  const uint32_t ranks = 3 * kGateRanksPerWord + 1;
  Make(ranks);
  keeper_->Open();
  for (int round = 0; round < 3; ++round) {
    for (uint32_t i = ranks - 1; i > 0; --i) {
      ASSERT_EQ(Arrive(i), Arrival::kWait) << i;
    }
    EXPECT_EQ(Arrive(0), Arrival::kReleased);
  }
}

TEST_F(GateTest, AfterCommitsTheAgentIsTold) {
  Make(2);
  keeper_->Open();
  members_[0]->commits()->fetch_add(1);
  EXPECT_EQ(Arrive(0, kGateSync), Arrival::kWait);
  EXPECT_EQ(Arrive(1), Arrival::kRing);
  EXPECT_TRUE(keeper_->IsFull());
  EXPECT_EQ(keeper_->CommitsOf(0), 1u);
  EXPECT_EQ(keeper_->CommitsOf(1), 0u);
  EXPECT_EQ(keeper_->Close().ranks, (std::vector<uint32_t>{0, 1}));
  keeper_->Release(kSuccess);
  keeper_->Open();
  // The next one asks for nothing.
  EXPECT_EQ(Arrive(0), Arrival::kWait);
  EXPECT_EQ(Arrive(1), Arrival::kReleased);
}

TEST_F(GateTest, OtherNodesNeedTheAgent) {
  Make(2, /*local_only=*/false);
  keeper_->Open();
  EXPECT_EQ(Arrive(0, kGateCollect), Arrival::kWait);
  const Ticket ticket = ticket_;
  EXPECT_EQ(Arrive(1), Arrival::kRing);
  const GateKeeper::Taken taken = keeper_->Close();
  EXPECT_EQ(taken.ranks.size(), 2u);
  EXPECT_TRUE(taken.collect);
  int status = -1;
  EXPECT_FALSE(IsThrough(0, ticket, &status));
  keeper_->Release(kErrTimeout);
  EXPECT_TRUE(IsThrough(0, ticket, &status));
  EXPECT_EQ(status, kErrTimeout);
}

TEST_F(GateTest, WhoIsInStaysInWhenItCloses) {
  Make(3);
  keeper_->Open();
  EXPECT_EQ(Arrive(2), Arrival::kWait);
  const Ticket ticket = ticket_;
  const GateKeeper::Taken taken = keeper_->Close();
  EXPECT_EQ(taken.ranks, std::vector<uint32_t>{2});
  EXPECT_FALSE(taken.collect);
  EXPECT_EQ(Arrive(0), Arrival::kClosed);
  EXPECT_EQ(Arrive(1), Arrival::kClosed);
  EXPECT_TRUE(keeper_->Close().ranks.empty());
  int status = -1;
  EXPECT_FALSE(IsThrough(2, ticket, &status));
  keeper_->Release(kSuccess);
  EXPECT_TRUE(IsThrough(2, ticket, &status));
  EXPECT_EQ(status, kSuccess);
  EXPECT_EQ(Arrive(2), Arrival::kClosed);
  keeper_->Open();
  EXPECT_EQ(Arrive(0), Arrival::kWait);
  EXPECT_EQ(Arrive(1), Arrival::kWait);
  EXPECT_EQ(Arrive(2), Arrival::kReleased);
}

TEST_F(GateTest, OpensAgainInEitherGeneration) {
  Make(2);
  keeper_->Open();
  for (int round = 0; round < 6; ++round) {
    ASSERT_EQ(Arrive(0), Arrival::kWait) << round;
    ASSERT_EQ(keeper_->Close().ranks, std::vector<uint32_t>{0}) << round;
    ASSERT_EQ(Arrive(1), Arrival::kClosed);
    keeper_->Release(kSuccess);
    keeper_->Open();
    if (round % 2 == 0) {
      ASSERT_EQ(Arrive(1), Arrival::kWait) << round;
      ASSERT_EQ(Arrive(0), Arrival::kReleased) << round;
    }
  }
}

TEST_F(GateTest, WhenTheAgentIsGoneOneGivesUpForAll) {
  Make(3);
  keeper_->Open();
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

TEST_F(GateTest, WhoGivesUpSpoilsTheGate) {
  Make(2);
  keeper_->Open();
  EXPECT_EQ(Arrive(0), Arrival::kWait);
  members_[0]->GiveUp(ticket_, kErrLostConnection);
  const GateKeeper::Taken taken = keeper_->Close();
  EXPECT_TRUE(taken.spoiled);
  EXPECT_TRUE(taken.ranks.empty()) << "1 looks as if it had arrived";
}

TEST_F(GateTest, WhoGivesUpAfterTheCloseSpoilsTheGate) {
  Make(2);
  keeper_->Open();
  EXPECT_EQ(Arrive(0), Arrival::kWait);
  EXPECT_FALSE(keeper_->Close().spoiled);
  members_[0]->GiveUp(ticket_, kErrLostConnection);
  EXPECT_FALSE(keeper_->Open());
  EXPECT_EQ(Arrive(1), Arrival::kClosed);
}

TEST_F(GateTest, WhatIsWantedOutlivesAnOpening) {
  Make(2, /*local_only=*/true);
  keeper_->Open();
  EXPECT_EQ(Arrive(0, kGateSync), Arrival::kWait);
  ASSERT_EQ(keeper_->Close().ranks.size(), 1u);
  EXPECT_TRUE(keeper_->Open());
  EXPECT_EQ(Arrive(0), Arrival::kWait);
  EXPECT_EQ(Arrive(1), Arrival::kRing);
}

// Ends the fence, and dies before it wakes anybody.
void EndFenceInSilence(const GateKeeper& keeper) {
  void* base = mmap(nullptr, keeper.size(), PROT_READ | PROT_WRITE, MAP_SHARED,
                    keeper.fd(), 0);
  ASSERT_NE(base, MAP_FAILED);
  static_cast<GateHeader*>(base)->state.store(GateState(1, false));
  munmap(base, keeper.size());
}

// Whether the watcher finds the end in its sleep, between two, or before the
// first one.
TEST_F(GateTest, TheFirstTwoWakeWhoWasLeftAsleep) {
  Make(4);
  keeper_->Open();
  std::vector<Ticket> tickets(3);
  for (uint32_t i = 0; i < 3; ++i) {
    ASSERT_EQ(members_[i]->Arrive(0, &tickets[i]), Arrival::kWait);
    EXPECT_EQ(tickets[i].watch, i < 2) << i;
  }
  std::thread sleeper([&] {
    int status = -1;
    EXPECT_TRUE(members_[2]->Wait(tickets[2], GateView::kForever, &status));
    EXPECT_EQ(status, kSuccess);
  });
  int status = -1;
  EXPECT_FALSE(members_[1]->Wait(tickets[1], 1'000'000, &status));
  EndFenceInSilence(*keeper_);
  EXPECT_TRUE(members_[1]->Wait(tickets[1], GateView::kForever, &status));
  EXPECT_EQ(status, kSuccess);
  sleeper.join();
}

TEST_F(GateTest, AWatcherNotWokenWakesTheOthers) {
  Make(4);
  keeper_->Open();
  std::vector<Ticket> tickets(3);
  for (uint32_t i = 0; i < 3; ++i) {
    ASSERT_EQ(members_[i]->Arrive(0, &tickets[i]), Arrival::kWait);
  }
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      int status = -1;
      const int64_t patience =
          tickets[i].watch ? 20'000'000 : GateView::kForever;
      while (!members_[i]->Wait(tickets[i], patience, &status)) {
      }
      EXPECT_EQ(status, kSuccess);
    });
  }
  EndFenceInSilence(*keeper_);
  for (auto& thread : threads) thread.join();
}

TEST_F(GateTest, ASecondArrivalOfARankUsesMessages) {
  Make(2);
  keeper_->Open();
  EXPECT_EQ(Arrive(0), Arrival::kWait);
  EXPECT_EQ(Arrive(0), Arrival::kClosed);
  EXPECT_EQ(Arrive(1), Arrival::kReleased);
}

TEST_F(GateTest, IsStuckWhenNothingMoves) {
  Make(2);
  EXPECT_FALSE(keeper_->IsStuck());
  keeper_->Open();
  EXPECT_FALSE(keeper_->IsStuck());
  EXPECT_FALSE(keeper_->IsStuck());
  Arrive(0);
  EXPECT_FALSE(keeper_->IsStuck());
  Arrive(1);
  Arrive(0);
  EXPECT_FALSE(keeper_->IsStuck());
  EXPECT_TRUE(keeper_->IsStuck());
}

TEST_F(GateTest, WhatIsNoGateIsRefused) {
  EXPECT_FALSE(GateKeeper::Create(0, true).ok());
  EXPECT_FALSE(GateKeeper::Create(kMaxGateRanks + 1, true).ok());
  Make(2);
  EXPECT_FALSE(GateMember::Map(keeper_->fd(), keeper_->size(), 2).ok());
  EXPECT_FALSE(GateMember::Map(keeper_->fd(), keeper_->size() + 1, 0).ok());
  EXPECT_FALSE(GateMember::Map(keeper_->fd(), 8, 0).ok());
  const UniqueFd other(memfd_create("other", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(other.get(), 4096), 0);
  EXPECT_FALSE(GateMember::Map(other.get(), 4096, 0).ok());
}

// What agent and core do together, as far as the gate is concerned: takes over
// again and again, and ends the fence when all are in, this way or that.
class Guardian {
 public:
  Guardian(GateKeeper* keeper, uint32_t ranks)
      : keeper_(keeper), ranks_(ranks), mail_(ranks) {}

  // A rank's: arrives by message, and waits for the answer.
  void ArriveByMessage(uint32_t rank) {
    mail_[rank] = true;
    while (mail_[rank]) std::this_thread::yield();
  }

  void Round() {
    std::vector<bool> in(ranks_, false);
    const GateKeeper::Taken taken = keeper_->Close();
    for (const uint32_t rank : taken.ranks) in[rank] = true;
    do {
      std::this_thread::yield();
      for (uint32_t i = 0; i < ranks_; ++i) in[i] = in[i] || mail_[i];
      const auto count = std::ranges::count(in, true);
      if (count == 0) break;
      if (count < ranks_) continue;
      if (!taken.ranks.empty()) keeper_->Release(kSuccess);
      keeper_->Open();
      keeper_->Wake();
      for (auto& m : mail_) m = false;
      return;
    } while (true);
    keeper_->Open();
  }

 private:
  GateKeeper* const keeper_;
  const uint32_t ranks_;
  std::vector<std::atomic<bool>> mail_;
};

TEST_F(GateTest, ClosingAndOpeningWhileAllRun) {
  constexpr uint32_t kRanks = 4;
  constexpr int kFences = 2000;
  Make(kRanks);
  Guardian guardian(keeper_.get(), kRanks);
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
          members_[i]->Wait(ticket, GateView::kForever, &status);
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
