#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "common/shm/commit_writer.h"
#include "common/shm/gate_member.h"
#include "common/wire.h"
#include "server/local/local_endpoint_test_base.h"

namespace canopy::local {
namespace {

// Ranks 0 and 1 are here, rank 2 is elsewhere.
class GatedTest : public LocalEndpointTest {
 protected:
  struct Member {
    std::unique_ptr<TestClient> client;
    std::unique_ptr<shm::GateMember> gate;
    std::unique_ptr<shm::CommitWriter> box;
    shm::GateMember::Ticket ticket;
  };
  Member Join(Rank rank) {
    Member member;
    member.client = std::make_unique<TestClient>(path());
    member.client->Hello({"job", rank}, Token(rank));
    Settle();
    const std::string welcome = PayloadOf(member.client->Next());
    WireReader r(welcome);
    r.Proc();
    r.Proc();
    r.Uint();
    const uint64_t size = r.Uint();
    const uint32_t index = r.Uint32();
    EXPECT_EQ(r.Uint32(), 0u);  // no other agent is to be looked for
    EXPECT_NE(r.Uint(), 0u);
    const uint64_t boxes_size = r.Uint();
    EXPECT_TRUE(r.done());
    EXPECT_EQ(member.client->fds.size(), 3u);
    if (member.client->fds.size() == 3) {
      auto gate =
          shm::GateMember::Map(member.client->fds[1].get(), size, index);
      EXPECT_TRUE(gate.ok());
      member.gate = std::move(gate).value();
      auto box = shm::CommitWriter::Map(member.client->fds[2].get(), boxes_size,
                                        index, member.gate->commits());
      EXPECT_TRUE(box.ok());
      member.box = std::move(box).value();
    }
    return member;
  }
  static std::string Commit() {
    WireWriter w;
    w.Uint(0);
    return w.Take();
  }
  static std::string WholeJobFence() {
    WireWriter w;
    w.Uint(1);
    w.Uint(0);
    w.Bool(false);
    w.Uint(0);
    w.String("");
    return w.Take();
  }
  // Answers what arrived at the gate.
  void AnswerGate(size_t client, int status) {
    Reply(client, kGateRequest, status);
  }
};

TEST_F(GatedTest, CommitsAreReadBeforeTheFence) {
  Member a = Join(0);
  Member b = Join(1);
  ASSERT_EQ(a.gate->Arrive(0, &a.ticket), shm::GateMember::Arrival::kWait);
  b.gate->commits()->fetch_add(1);
  ASSERT_EQ(b.gate->Arrive(shm::kGateSync, &b.ticket),
            shm::GateMember::Arrival::kRing);
  a.client->Send(FrameType::kGateFull, 0, "");
  b.client->Send(FrameType::kCommit, 0, Commit());
  Settle();
  ASSERT_EQ(sink_.All<core::Committed>().size(), 1u);
  ASSERT_EQ(sink_.All<core::CollectiveArrived>().size(), 2u);
  int status = -1;
  EXPECT_FALSE(a.gate->Wait(a.ticket, 0, &status));
  AnswerGate(0, kSuccess);
  AnswerGate(1, kSuccess);
  EXPECT_TRUE(a.gate->Wait(a.ticket, 0, &status));
  EXPECT_EQ(status, kSuccess);
}

TEST_F(GatedTest, FencesByMessageCloseItForAWhile) {
  Member a = Join(0);
  Member b = Join(1);
  a.client->Send(FrameType::kCollective, 5, WholeJobFence());
  Settle();
  EXPECT_EQ(b.gate->Arrive(0, &b.ticket), shm::GateMember::Arrival::kClosed);
  b.client->Send(FrameType::kCollective, 5, WholeJobFence());
  Settle();
  Reply(0, 5, kSuccess);
  Reply(1, 5, kSuccess);
  EXPECT_EQ(b.gate->Arrive(0, &b.ticket), shm::GateMember::Arrival::kWait);
}

TEST_F(GatedTest, TheEndOfAMemberHandsOver) {
  Member a = Join(0);
  Member b = Join(1);
  ASSERT_EQ(a.gate->Arrive(0, &a.ticket), shm::GateMember::Arrival::kWait);
  b.client->Disconnect();
  Settle();
  ASSERT_EQ(sink_.All<core::CollectiveArrived>().size(), 1u);
  EXPECT_EQ(sink_.All<core::ClientGone>().size(), 1u);
}

TEST_F(GatedTest, OldClientsGetNone) {
  TestClient old(path());
  old.Hello({"job", 0}, Token(0), 1);
  Settle();
  EXPECT_EQ(StatusOf(old.Next()), 0);
  EXPECT_EQ(old.fds.size(), 1u);
  Member b = Join(1);
  EXPECT_EQ(b.gate->Arrive(0, &b.ticket), shm::GateMember::Arrival::kClosed);
}

TEST_F(GatedTest, TheGatesRequestIsNobodysTag) {
  Member a = Join(0);
  a.client->Send(FrameType::kCollective, kGateRequest, WholeJobFence());
  Settle();
  EXPECT_FALSE(a.client->Pump());
}

class BoxTest : public GatedTest {
 protected:
  void Tune(LocalOptions* options) override {
    options->keep_boxes = [this](const std::string& nspace, UniqueFd boxes) {
      EXPECT_EQ(nspace, "job");
      kept_.push_back(std::move(boxes));
    };
    options->watch_gates_ns = watch_ns_;
  }
  // Ranks whose commits the core was told of.
  std::vector<Rank> Taken() const {
    std::vector<Rank> ranks;
    for (const auto& taken : sink_.All<core::CommitTaken>()) {
      ranks.push_back(taken.proc.rank);
    }
    return ranks;
  }
  // The kinds of what the core was told, without connections.
  bool CommitCameFirst() const {
    for (const core::Input& input : sink_.inputs) {
      if (std::holds_alternative<core::ClientConnected>(input)) continue;
      return std::holds_alternative<core::CommitTaken>(input);
    }
    return false;
  }

  std::vector<UniqueFd> kept_;
  int64_t watch_ns_ = LocalOptions().watch_gates_ns;
};

using Ranks = std::vector<Rank>;

TEST_F(BoxTest, OlderClientsGetNone) {
  TestClient old(path());
  old.Hello({"job", 0}, Token(0), 4);
  Settle();
  const std::string welcome = PayloadOf(old.Next());
  WireReader r(welcome);
  r.Proc();
  r.Proc();
  for (int i = 0; i < 5; ++i) r.Uint();
  EXPECT_TRUE(r.done());
  EXPECT_EQ(old.fds.size(), 2u);
  EXPECT_TRUE(kept_.empty());
}

TEST_F(BoxTest, OneConnectionOfARankHasTheBox) {
  Member a = Join(0);
  TestClient second(path());
  second.Hello({"job", 0}, Token(0));
  Settle();
  const std::string welcome = PayloadOf(second.Next());
  WireReader r(welcome);
  r.Proc();
  r.Proc();
  for (int i = 0; i < 5; ++i) r.Uint();
  EXPECT_EQ(r.Uint(), 0u);
  EXPECT_TRUE(r.done());
  EXPECT_EQ(second.fds.size(), 1u);
  // What that one sends has no part in the order of the first.
  a.box->Write(Commit());
  second.Send(FrameType::kFinalize, 2, "");
  Settle();
  EXPECT_EQ(Taken(), Ranks());
}

TEST_F(BoxTest, WhatAClientSendsComesAfterItsCommit) {
  Member a = Join(0);
  Member b = Join(1);
  EXPECT_EQ(kept_.size(), 1u) << "before anybody could write";
  a.box->Write(Commit());
  b.client->Send(FrameType::kFinalize, 2, "");
  Settle();
  EXPECT_EQ(Taken(), Ranks());
  sink_.inputs.clear();
  a.client->Send(FrameType::kFinalize, 2, "");
  Settle();
  EXPECT_EQ(Taken(), Ranks{0});
  EXPECT_TRUE(CommitCameFirst());
}

TEST_F(BoxTest, CommitsByMessageKeepTheirPlace) {
  Member a = Join(0);
  a.gate->commits()->fetch_add(1);
  EXPECT_EQ(a.box->Write(Commit()), shm::CommitWriter::Outcome::kMessage);
  a.client->Send(FrameType::kCommit, 0, Commit());
  Settle();
  EXPECT_EQ(sink_.All<core::Committed>().size(), 1u);
  EXPECT_EQ(a.box->Write(Commit()), shm::CommitWriter::Outcome::kWritten);
}

TEST_F(BoxTest, AtAFenceTheyAreTaken) {
  Member a = Join(0);
  Member b = Join(1);
  a.box->Write(Commit());
  a.gate->Arrive(shm::kGateSync, &a.ticket);
  b.box->Write(Commit());
  b.gate->Arrive(shm::kGateSync, &b.ticket);
  sink_.inputs.clear();
  b.client->Send(FrameType::kGateFull, 0, "");
  Settle();
  EXPECT_EQ(Taken(), (Ranks{1, 0}));
  EXPECT_TRUE(CommitCameFirst());
  EXPECT_EQ(sink_.All<core::CollectiveArrived>().size(), 2u);
}

TEST_F(BoxTest, WhoeverAsksIsServed) {
  Member a = Join(0);
  Member b = Join(1);
  b.box->Write(Commit());
  endpoint_->TakeCommits({"job", 0});
  endpoint_->TakeCommits({"other", 1});
  EXPECT_EQ(Taken(), Ranks());
  endpoint_->TakeCommits({"job", 1});
  EXPECT_EQ(Taken(), Ranks{1});
  a.box->Write(Commit());
  endpoint_->TakeCommits({"job", kRankUndef});
  EXPECT_EQ(Taken(), (Ranks{1, 0}));
}

TEST_F(BoxTest, WhoIsAwaitedRings) {
  Member a = Join(0);
  endpoint_->AwaitCommit({"job", 0});
  endpoint_->AwaitCommit({"other", 0});
  EXPECT_EQ(a.box->Write(Commit()), shm::CommitWriter::Outcome::kRing);
  a.client->Send(FrameType::kCommitted, 0, "");
  Settle();
  EXPECT_EQ(Taken(), Ranks{0});
}

TEST_F(BoxTest, WhatAProcessLeavesBehind) {
  Member a = Join(0);
  a.box->Write(Commit());
  sink_.inputs.clear();
  a.client->Disconnect();
  Settle();
  EXPECT_EQ(Taken(), Ranks{0});
  EXPECT_TRUE(CommitCameFirst());
}

TEST_F(BoxTest, NonsenseClosesTheConnection) {
  Member a = Join(0);
  Member b = Join(1);
  a.box->Write("nonsense");
  b.box->Write(Commit());
  endpoint_->TakeCommits({"job", kRankWildcard});
  Settle();
  EXPECT_EQ(Taken(), Ranks{1});
  EXPECT_FALSE(a.client->Pump());
  EXPECT_TRUE(b.client->Pump());
  ASSERT_EQ(log_.size(), 1u);
}

TEST_F(BoxTest, NonsenseBeforeAFrameLeavesTheFrameUnread) {
  Member a = Join(0);
  a.box->Write("nonsense");
  a.client->Send(FrameType::kFinalize, 2, "");
  Settle();
  EXPECT_TRUE(sink_.All<core::FinalizeArrived>().empty());
}

TEST_F(BoxTest, AnotherAgentFindsWhatIsThere) {
  Member a = Join(0);
  a.box->Write(Commit());
  ASSERT_EQ(kept_.size(), 1u);
  endpoint_.reset();
  sink_.inputs.clear();
  Make();
  // The job came first.
  endpoint_->DropJob("job");
  endpoint_->Inherit("job", std::move(kept_[0]));
  AddJob("job");
  EXPECT_EQ(Taken(), Ranks{0});
  // A process that does not know of it yet goes on.
  a.box->Write(Commit());
  endpoint_->TakeCommits({"job", 0});
  EXPECT_EQ(Taken(), (Ranks{0, 0}));
  // And has the same box when it does.
  Member again = Join(0);
  a.box->Write(Commit());
  again.box->Write(Commit());
  again.client->Send(FrameType::kFinalize, 2, "");
  Settle();
  EXPECT_EQ(Taken(), (Ranks{0, 0, 0, 0}));
}

class WatchedBoxTest : public BoxTest {
 protected:
  WatchedBoxTest() { watch_ns_ = 1; }
};

// Others may look for it in the segment alone.
TEST_F(WatchedBoxTest, WhatNobodyAsksForIsTakenInTime) {
  Member a = Join(0);
  a.box->Write(Commit());
  for (int i = 0; i < 100 && Taken().empty(); ++i) loop_.RunOnce(10);
  EXPECT_EQ(Taken(), Ranks{0});
}

}  // namespace
}  // namespace canopy::local
