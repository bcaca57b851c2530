#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "common/shm/barrier_participant.h"
#include "common/shm/commit_writer.h"
#include "server/local/local_endpoint_test_base.h"
#include "server/ports/fake_fd_store.h"

namespace canopy::local {
namespace {

// Ranks 0 and 1 are local, rank 2 is remote.
class GatedTest : public LocalEndpointTest {
 protected:
  struct Member {
    std::unique_ptr<TestClient> client;
    std::unique_ptr<shm::BarrierParticipant> barrier;
    std::unique_ptr<shm::CommitWriter> mailbox;
    shm::BarrierParticipant::Ticket ticket;
  };
  Member Join(Rank rank) {
    Member member;
    member.client = std::make_unique<TestClient>(path());
    member.client->Hello({"job", rank}, Token(rank));
    Settle();
    const std::string welcome = PayloadOf(member.client->Next());
    local::Welcome parts;
    EXPECT_TRUE(wire::Decode(welcome, &parts));
    const uint64_t size = parts.barrier_size;
    const uint32_t index = parts.index;
    EXPECT_EQ(parts.reattach_ms, 0u);  // there is no other agent to look for
    EXPECT_NE(parts.epoch, 0u);
    const uint64_t mailboxes_size = parts.mailboxes_size;
    EXPECT_EQ(member.client->fds.size(), 3u);
    if (member.client->fds.size() == 3) {
      auto barrier = shm::BarrierParticipant::Map(member.client->fds[1].get(),
                                                  size, index);
      EXPECT_TRUE(barrier.ok());
      member.barrier = std::move(barrier).value();
      auto mailbox =
          shm::CommitWriter::Map(member.client->fds[2].get(), mailboxes_size,
                                 index, member.barrier->commits());
      EXPECT_TRUE(mailbox.ok());
      member.mailbox = std::move(mailbox).value();
    }
    return member;
  }
  static std::string Commit() { return wire::Encode(local::Commit{}); }
  static std::string WholeJobFence() { return wire::Encode(Collective{}); }
  void ReleaseBarrier(std::vector<core::ClientId> clients, int status) {
    endpoint_->ReleaseFence({status, std::move(clients)});
  }
  // Returns the clients that have arrived at the barrier, in order.
  std::vector<core::ClientId> Arrived() const {
    std::vector<core::ClientId> clients;
    for (const auto& fence : sink_.All<core::LocalFenceArrived>()) {
      clients.insert(clients.end(), fence.clients.begin(), fence.clients.end());
    }
    return clients;
  }
};

TEST_F(GatedTest, CommitsAreReadBeforeTheFence) {
  Member a = Join(0);
  Member b = Join(1);
  ASSERT_EQ(a.barrier->Arrive(0, &a.ticket),
            shm::BarrierParticipant::Arrival::kWait);
  b.barrier->commits()->fetch_add(1);
  ASSERT_EQ(b.barrier->Arrive(shm::kBarrierSync, &b.ticket),
            shm::BarrierParticipant::Arrival::kNotify);
  a.client->Send(FrameType::kBarrierFull, 0, "");
  b.client->Send(FrameType::kCommit, 0, Commit());
  Settle();
  ASSERT_EQ(sink_.All<core::Committed>().size(), 1u);
  ASSERT_EQ(Arrived(), (std::vector<core::ClientId>{IdOf(0), IdOf(1)}));
  int status = -1;
  EXPECT_FALSE(a.barrier->Wait(a.ticket, 0, &status));
  ReleaseBarrier(Arrived(), kSuccess);
  EXPECT_TRUE(a.barrier->Wait(a.ticket, 0, &status));
  EXPECT_EQ(status, kSuccess);
}

TEST_F(GatedTest, FencesByMessageCloseTheBarrierTemporarily) {
  Member a = Join(0);
  Member b = Join(1);
  a.client->Send(FrameType::kCollective, 5, WholeJobFence());
  Settle();
  EXPECT_EQ(b.barrier->Arrive(0, &b.ticket),
            shm::BarrierParticipant::Arrival::kClosed);
  b.client->Send(FrameType::kCollective, 5, WholeJobFence());
  Settle();
  Reply(0, 5, kSuccess);
  Reply(1, 5, kSuccess);
  EXPECT_EQ(b.barrier->Arrive(0, &b.ticket),
            shm::BarrierParticipant::Arrival::kWait);
}

TEST_F(GatedTest, WhenARankEndsTheFenceIsPassedToTheCore) {
  Member a = Join(0);
  Member b = Join(1);
  ASSERT_EQ(a.barrier->Arrive(0, &a.ticket),
            shm::BarrierParticipant::Arrival::kWait);
  b.client->Disconnect();
  Settle();
  ASSERT_EQ(Arrived(), std::vector<core::ClientId>{IdOf(0)});
  EXPECT_EQ(sink_.All<core::ClientGone>().size(), 1u);
}

// A fence may have any tag, even the largest.
TEST_F(GatedTest, AFenceByMessageDoesNotCountInTheBarrier) {
  Member a = Join(0);
  Member b = Join(1);
  ASSERT_EQ(b.barrier->Arrive(0, &b.ticket),
            shm::BarrierParticipant::Arrival::kWait);
  a.client->Send(FrameType::kCollective, UINT64_MAX, WholeJobFence());
  Settle();
  EXPECT_EQ(Arrived(), std::vector<core::ClientId>{IdOf(1)});
  ReleaseBarrier({IdOf(0)}, kSuccess);
  int status = -1;
  EXPECT_FALSE(b.barrier->Wait(b.ticket, 0, &status));
  Reply(0, UINT64_MAX, kSuccess);
  Settle();
  EXPECT_EQ(StatusOf(a.client->Next()), kSuccess);
}

class MailboxTest : public GatedTest {
 protected:
  void Tune(LocalOptions* options) override {
    options->fd_store = &fd_store_;
    options->watch_barriers_ns = watch_ns_;
  }
  // Returns the ranks whose commits were reported to the core.
  std::vector<Rank> Taken() const {
    std::vector<Rank> ranks;
    for (const auto& taken : sink_.All<core::CommitTaken>()) {
      ranks.push_back(taken.proc.rank);
    }
    return ranks;
  }
  // Returns true if the first input, except connections, is a commit.
  bool CommitCameFirst() const {
    for (const core::Input& input : sink_.inputs) {
      if (std::holds_alternative<core::ClientConnected>(input)) continue;
      return std::holds_alternative<core::CommitTaken>(input);
    }
    return false;
  }

  FakeFdStore fd_store_;
  int64_t watch_ns_ = LocalOptions().watch_barriers_ns;
};

using Ranks = std::vector<Rank>;

TEST_F(MailboxTest, OnlyOneConnectionOfARankGetsTheMailbox) {
  Member a = Join(0);
  TestClient second(path());
  second.Hello({"job", 0}, Token(0));
  Settle();
  const std::string welcome = PayloadOf(second.Next());
  local::Welcome parts;
  ASSERT_TRUE(wire::Decode(welcome, &parts));
  EXPECT_EQ(parts.barrier_size, 0u);
  EXPECT_EQ(parts.mailboxes_size, 0u);
  EXPECT_EQ(second.fds.size(), 1u);
  // Requests of the second connection are not ordered with the first
  // connection's commits.
  a.mailbox->Write(Commit());
  second.Send(FrameType::kFinalize, 2, "");
  Settle();
  EXPECT_EQ(Taken(), Ranks());
}

TEST_F(MailboxTest, ACommitIsReadBeforeTheNextRequestOfItsRank) {
  Member a = Join(0);
  Member b = Join(1);
  EXPECT_EQ(fd_store_.nspaces, std::vector<std::string>{"job"})
      << "before anybody could write";
  a.mailbox->Write(Commit());
  b.client->Send(FrameType::kFinalize, 2, "");
  Settle();
  EXPECT_EQ(Taken(), Ranks());
  sink_.inputs.clear();
  a.client->Send(FrameType::kFinalize, 2, "");
  Settle();
  EXPECT_EQ(Taken(), Ranks{0});
  EXPECT_TRUE(CommitCameFirst());
}

TEST_F(MailboxTest, AMailboxIsUsedAgainAfterACommitByMessage) {
  Member a = Join(0);
  a.barrier->commits()->fetch_add(1);
  EXPECT_EQ(a.mailbox->Write(Commit()), shm::CommitWriter::Outcome::kMessage);
  a.client->Send(FrameType::kCommit, 0, Commit());
  Settle();
  EXPECT_EQ(sink_.All<core::Committed>().size(), 1u);
  EXPECT_EQ(a.mailbox->Write(Commit()), shm::CommitWriter::Outcome::kWritten);
}

TEST_F(MailboxTest, CommitsAreReadAtAFence) {
  Member a = Join(0);
  Member b = Join(1);
  a.mailbox->Write(Commit());
  a.barrier->Arrive(shm::kBarrierSync, &a.ticket);
  b.mailbox->Write(Commit());
  b.barrier->Arrive(shm::kBarrierSync, &b.ticket);
  sink_.inputs.clear();
  b.client->Send(FrameType::kBarrierFull, 0, "");
  Settle();
  EXPECT_EQ(Taken(), (Ranks{1, 0}));
  EXPECT_TRUE(CommitCameFirst());
  EXPECT_EQ(Arrived().size(), 2u);
}

TEST_F(MailboxTest, CommitsAreReadForARequest) {
  Member a = Join(0);
  Member b = Join(1);
  b.mailbox->Write(Commit());
  endpoint_->TakeCommits({"job", 0});
  endpoint_->TakeCommits({"other", 1});
  EXPECT_EQ(Taken(), Ranks());
  endpoint_->TakeCommits({"job", 1});
  EXPECT_EQ(Taken(), Ranks{1});
  a.mailbox->Write(Commit());
  endpoint_->TakeCommits({"job", kRankUndef});
  EXPECT_EQ(Taken(), (Ranks{1, 0}));
}

TEST_F(MailboxTest, AnAwaitedRankSignalsItsCommit) {
  Member a = Join(0);
  endpoint_->AwaitCommit({"job", 0});
  endpoint_->AwaitCommit({"other", 0});
  EXPECT_EQ(a.mailbox->Write(Commit()), shm::CommitWriter::Outcome::kNotify);
  a.client->Send(FrameType::kCommitted, 0, "");
  Settle();
  EXPECT_EQ(Taken(), Ranks{0});
}

TEST_F(MailboxTest, CommitsOfAnEndedProcessAreRead) {
  Member a = Join(0);
  a.mailbox->Write(Commit());
  sink_.inputs.clear();
  a.client->Disconnect();
  Settle();
  EXPECT_EQ(Taken(), Ranks{0});
  EXPECT_TRUE(CommitCameFirst());
}

TEST_F(MailboxTest, AMalformedCommitClosesTheConnection) {
  Member a = Join(0);
  Member b = Join(1);
  a.mailbox->Write("nonsense");
  b.mailbox->Write(Commit());
  endpoint_->TakeCommits({"job", kRankWildcard});
  Settle();
  EXPECT_EQ(Taken(), Ranks{1});
  EXPECT_FALSE(a.client->Pump());
  EXPECT_TRUE(b.client->Pump());
  ASSERT_EQ(log_.size(), 1u);
}

TEST_F(MailboxTest, AfterAMalformedCommitTheNextFrameIsNotRead) {
  Member a = Join(0);
  a.mailbox->Write("nonsense");
  a.client->Send(FrameType::kFinalize, 2, "");
  Settle();
  EXPECT_TRUE(sink_.All<core::FinalizeArrived>().empty());
}

TEST_F(MailboxTest, ASuccessorFindsTheCommits) {
  Member a = Join(0);
  a.mailbox->Write(Commit());
  ASSERT_EQ(fd_store_.files.size(), 1u);
  endpoint_.reset();
  sink_.inputs.clear();
  Make();
  // Make has added the job, but mailboxes must be recovered before that.
  endpoint_->DropJob("job");
  endpoint_->RecoverMailboxes("job",
                              std::move(fd_store_.files["commit-boxes"]));
  AddJob("job");
  EXPECT_EQ(Taken(), Ranks{0});
  // A process that has not noticed the agent's restart still uses its mailbox.
  a.mailbox->Write(Commit());
  endpoint_->TakeCommits({"job", 0});
  EXPECT_EQ(Taken(), (Ranks{0, 0}));
  // After reattaching, the process has the same mailbox.
  Member again = Join(0);
  a.mailbox->Write(Commit());
  again.mailbox->Write(Commit());
  again.client->Send(FrameType::kFinalize, 2, "");
  Settle();
  EXPECT_EQ(Taken(), (Ranks{0, 0, 0}));
}

class WatchedMailboxTest : public MailboxTest {
 protected:
  WatchedMailboxTest() { watch_ns_ = 1; }
};

// A process that needs this commit may look for it in the segment, without a
// request to the agent.
TEST_F(WatchedMailboxTest, CommitsWithoutARequestAreReadPeriodically) {
  Member a = Join(0);
  a.mailbox->Write(Commit());
  for (int i = 0; i < 100 && Taken().empty(); ++i) loop_.RunOnce(10);
  EXPECT_EQ(Taken(), Ranks{0});
}

}  // namespace
}  // namespace canopy::local
