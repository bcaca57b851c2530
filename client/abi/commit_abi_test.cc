// Commits of a process whose agent offers a mailbox for them.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <memory>
#include <string>

#include "client/abi/client_fixture.h"

namespace canopy::client {
namespace {

using local::FrameType;
using Found = shm::CommitReader::Found;

class CommitAbiTest : public testing::Test {
 protected:
  CommitAbiTest() : agent_(std::make_unique<FakeAgent>()) {
    agent_->OfferMailboxes();
  }
  ~CommitAbiTest() override {
    if (PMIx_Initialized()) (void)PMIx_Finalize(nullptr, 0);
  }
  void Init() { ASSERT_EQ(PMIx_Init(&self_, nullptr, 0), PMIX_SUCCESS); }
  static int Commit(const char* key, const std::string& text) {
    const Value value = Value::String(text);
    EXPECT_EQ(
        PMIx_Put(PMIX_GLOBAL, key, const_cast<pmix_value_t*>(&value.raw())),
        PMIX_SUCCESS);
    return PMIx_Commit();
  }
  // Returns the new commits in the process's mailbox.
  std::string Take() {
    std::string bytes;
    if (agent_->mailboxes().Take(0, &bytes) != Found::kCommits) return "";
    agent_->mailboxes().Release();
    return bytes;
  }

  std::unique_ptr<FakeAgent> agent_;
  pmix_proc_t self_ = {};
};

TEST_F(CommitAbiTest, ACommitInTheMailboxSendsNoMessage) {
  Init();
  EXPECT_EQ(PMIx_Commit(), PMIX_SUCCESS);
  EXPECT_EQ(Take(), "") << "nothing was put";
  EXPECT_EQ(Commit("one", "1"), PMIX_SUCCESS);
  EXPECT_EQ(Commit("two", "2"), PMIX_SUCCESS);
  const std::string bytes = Take();
  EXPECT_NE(bytes.find("one"), std::string::npos);
  EXPECT_LT(bytes.find("one"), bytes.find("two"));
  EXPECT_EQ(Take(), "");
  // Frames arrive in order, so a frame of the commit would have arrived before
  // that of the fence.
  EXPECT_EQ(PMIx_Fence(&self_, 1, nullptr, 0), PMIX_SUCCESS);
  EXPECT_EQ(agent_->Count(FrameType::kCommit), 0u);
  EXPECT_EQ(agent_->Count(FrameType::kCommitted), 0u);
}

TEST_F(CommitAbiTest, AFenceMakesTheAgentReadTheMailbox) {
  Init();
  // Atomic for sanitizers, which do not see that the barrier orders the
  // accesses.
  std::atomic<bool> seen = false;
  agent_->On(FrameType::kBarrierFull, [&](FakeAgent& agent, const Request&) {
    const shm::BarrierServer::Taken taken = agent.barrier().Close();
    EXPECT_TRUE(taken.sync);
    seen = Take().find("key") != std::string::npos;
    agent.barrier().Release(kSuccess);
    agent.barrier().Wake();
  });
  EXPECT_EQ(Commit("key", "x"), PMIX_SUCCESS);
  shm::BarrierParticipant::Ticket ticket;
  EXPECT_EQ(agent_->other_participant().Arrive(0, &ticket),
            shm::BarrierParticipant::Arrival::kWait);
  EXPECT_EQ(PMIx_Fence(nullptr, 0, nullptr, 0), PMIX_SUCCESS);
  EXPECT_TRUE(seen);
}

TEST_F(CommitAbiTest, ACommitSignalsTheAgentOnRequest) {
  Init();
  agent_->mailboxes().Ask(0);
  EXPECT_EQ(Commit("one", "1"), PMIX_SUCCESS);
  agent_->Await(FrameType::kCommitted);
  EXPECT_NE(Take(), "");
  EXPECT_EQ(Commit("two", "2"), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Fence(&self_, 1, nullptr, 0), PMIX_SUCCESS);
  EXPECT_EQ(agent_->Count(FrameType::kCommitted), 1u);
}

TEST_F(CommitAbiTest, ACommitThatIsTooLargeAndLaterOnesAreSentAsMessages) {
  Init();
  const std::string large(shm::kCommitMailboxBytes, 'x');
  EXPECT_EQ(Commit("large", large), PMIX_SUCCESS);
  agent_->Await(FrameType::kCommit);
  EXPECT_EQ(Commit("small", "1"), PMIX_SUCCESS);
  agent_->Await(FrameType::kCommit, 2);
  EXPECT_EQ(Take(), "");
  // Reports to the client that the agent has read the two commits sent as
  // messages.
  agent_->mailboxes().SetMessages(0, 2);
  EXPECT_EQ(Commit("again", "1"), PMIX_SUCCESS);
  EXPECT_NE(Take().find("again"), std::string::npos);
  EXPECT_EQ(agent_->Count(FrameType::kCommit), 2u);
}

TEST_F(CommitAbiTest, ACommitIsSentAsAMessageIfTheMailboxIsFull) {
  Init();
  const std::string half(shm::kCommitMailboxBytes / 2, 'x');
  EXPECT_EQ(Commit("a", half), PMIX_SUCCESS);
  EXPECT_EQ(Commit("b", half), PMIX_SUCCESS);
  agent_->Await(FrameType::kCommit);
  EXPECT_NE(Take(), "");
}

TEST_F(CommitAbiTest, ACommitFailsIfTheAgentIsGone) {
  Init();
  agent_->Die();
  EXPECT_EQ(Commit("key", "x"), PMIX_ERR_LOST_CONNECTION);
}

TEST_F(CommitAbiTest, ASuccessorFindsTheCommit) {
  agent_->BeAgent(7, 10000);
  Init();
  agent_->BeAgent(8, 10000);
  agent_->Die();
  EXPECT_EQ(Commit("key", "x"), PMIX_SUCCESS);
  EXPECT_NE(Take().find("key"), std::string::npos);
  // The process sends the commit again to the successor.
  EXPECT_EQ(PMIx_Fence(&self_, 1, nullptr, 0), PMIX_SUCCESS);
  EXPECT_NE(agent_->Await(FrameType::kCommit).payload.find("key"),
            std::string::npos);
  agent_->mailboxes().SetMessages(0, 1);
  // The barrier, which this successor has from its predecessor, counts one
  // commit that was sent as a message. SetMessages reports that the agent has
  // read this commit, so the mailbox may be used.
  EXPECT_EQ(Commit("more", "x"), PMIX_SUCCESS);
  EXPECT_NE(Take().find("more"), std::string::npos);
}

TEST_F(CommitAbiTest, MailboxesOfAnotherVersionAreNotUsed) {
  void* base = mmap(nullptr, agent_->mailboxes().size(), PROT_READ | PROT_WRITE,
                    MAP_SHARED, agent_->mailboxes().fd(), 0);
  ASSERT_NE(base, MAP_FAILED);
  static_cast<shm::CommitHeader*>(base)->version = shm::kCommitVersion + 1;
  munmap(base, agent_->mailboxes().size());
  Init();
  EXPECT_EQ(Commit("key", "x"), PMIX_SUCCESS);
  agent_->Await(FrameType::kCommit);
}

}  // namespace
}  // namespace canopy::client
