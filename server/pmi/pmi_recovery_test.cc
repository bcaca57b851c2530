#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <string>
#include <vector>

#include "server/pmi/agent_fixture.h"
#include "server/pmi/spawn_text.h"

namespace canopy::pmi {
namespace {

constexpr char kInit[] = "cmd=init pmi_version=1 pmi_subversion=1\n";
constexpr char kInitAnswer[] =
    "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n";
constexpr core::RequestId kBarrier = 1;
constexpr core::RequestId kFinalize = 2;
constexpr core::RequestId kFirstChange = 16;

class PmiRecoveryTest : public AgentTest {
 protected:
  void Init() {
    Send(kInit);
    EXPECT_EQ(Receive(), kInitAnswer);
  }
};

TEST_F(PmiRecoveryTest, AClientMaySendItsInitToTheSuccessor) {
  Kill();
  Restart();
  EXPECT_TRUE(agent_->sink.inputs.empty());
  Init();
  EXPECT_EQ(agent_->Client(),
            agent_->sink.All<core::ClientConnected>()[0].client);
}

TEST_F(PmiRecoveryTest, ASuccessorAnswersRequestsSentDuringTheRestart) {
  Init();
  Kill();
  Write("cmd=get_my_kvsname\n");
  Restart();
  EXPECT_EQ(Receive(), "cmd=my_kvsname rc=0 kvsname=job\n");
  EXPECT_EQ(agent_->sink.All<core::ClientConnected>().size(), 1u);
  EXPECT_EQ(Barriers(), 0u);
}

TEST_F(PmiRecoveryTest, AWaitingBarrierIsReplayed) {
  Init();
  Send("cmd=barrier_in\n");
  agent_->Reply(kBarrier);
  EXPECT_EQ(Receive(), "cmd=barrier_out\n");
  Send("cmd=barrier_in\n");
  Kill();
  Restart();
  EXPECT_EQ(Barriers(), 1u);
  ASSERT_EQ(agent_->sink.All<core::CollectiveArrived>().size(), 1u);
  EXPECT_EQ(Receive(), "");
  agent_->Reply(kBarrier);
  EXPECT_EQ(Receive(), "cmd=barrier_out\n");
}

TEST_F(PmiRecoveryTest, AWaitingPutIsCommittedAgain) {
  Init();
  Send("cmd=put kvsname=job key=k value=v\n");
  Kill();
  Restart();
  EXPECT_EQ(agent_->sink.All<core::Committed>().size(), 1u);
}

// The former process of the rank may have left its connection to a child.
TEST_F(PmiRecoveryTest, ARestartedProcessHasAStateOfItsOwn) {
  Init();
  Send("cmd=publish_name service=s port=p\n");
  agent_->Reply(kFirstChange);
  EXPECT_EQ(Receive(), "cmd=publish_result rc=0 msg=success info=ok\n");
  UniqueFd former = std::move(client_);
  client_.Reset(agent_->endpoint.FdForRank(agent_->prepare, 1).fd);
  agent_->Settle();
  EXPECT_EQ(agent_->sink.All<core::ClientGone>().size(), 1u);
  former.Reset();
  agent_->Settle();
  EXPECT_EQ(std::ranges::count(fd_store_.released, "pmi1.rank.1"), 1)
      << "that of the next one stays";
  Init();
  Kill();
  Restart();
  Send("cmd=publish_name service=s port=p\n");
  const auto published = agent_->sink.All<core::PublishArrived>();
  ASSERT_EQ(published.size(), 1u);
  EXPECT_EQ(published[0].request, kFirstChange) << "as it has made none yet";
}

TEST_F(PmiRecoveryTest, ASuccessorKnowsThatAClientHasFinalized) {
  Init();
  Send("cmd=finalize\n");
  agent_->Reply(kFinalize);
  EXPECT_EQ(Receive(), "cmd=finalize_ack\n");
  Kill();
  Restart();
  EXPECT_EQ(agent_->sink.All<core::FinalizeArrived>().size(), 1u);
}

TEST_F(PmiRecoveryTest, ASuccessorAnswersABarrierThatHasEnded) {
  Init();
  Send("cmd=barrier_in\n");
  Kill();
  PutStates({.initialized = true,
             .answering = true,
             .status = kErrUnreach,
             .barriers = 1});
  Restart();
  EXPECT_EQ(Barriers(), 1u);
  EXPECT_TRUE(agent_->sink.All<core::CollectiveArrived>().empty());
  EXPECT_EQ(Receive(), "cmd=barrier_out rc=-1 msg=failed_with_status_" +
                           std::to_string(kErrUnreach) + "\n");
}

TEST_F(PmiRecoveryTest, AnAnswerThatIsUnreadInTheSocketIsNotRepeated) {
  Init();
  Send("cmd=barrier_in\n");
  const std::string answer = "cmd=barrier_out\n";
  ASSERT_EQ(send(fd_store_.connections["pmi1.rank.1"].get(), answer.data(),
                 answer.size(), 0),
            static_cast<ssize_t>(answer.size()));
  Kill();
  PutStates({.initialized = true, .answering = true, .barriers = 1});
  Restart();
  EXPECT_EQ(Barriers(), 1u);
  EXPECT_TRUE(agent_->sink.All<core::CollectiveArrived>().empty());
  EXPECT_EQ(Receive(), answer);
  Send("cmd=get_my_kvsname\n");
  EXPECT_EQ(Receive(), "cmd=my_kvsname rc=0 kvsname=job\n");
}

TEST_F(PmiRecoveryTest, AnAnswerAfterWhichACommandCameIsNotRepeated) {
  Init();
  Send("cmd=barrier_in\n");
  Kill();
  Write("cmd=get_my_kvsname\n");
  PutStates({.initialized = true, .answering = true, .barriers = 1});
  Restart();
  EXPECT_EQ(Receive(), "cmd=my_kvsname rc=0 kvsname=job\n");
  EXPECT_TRUE(agent_->sink.All<core::CollectiveArrived>().empty());
}

constexpr char kSpawn[] =
    "mcmd=spawn\nnprocs=1\nexecname=x\ntotspawns=1\nspawnssofar=1\nendcmd\n";
constexpr char kSpawned[] = "cmd=spawn_result rc=0 msg=success info=ok\n";

TEST_F(PmiRecoveryTest, ASpawnSentDuringTheRestartIsRequestedOnce) {
  Init();
  Kill();
  Write(kSpawn);
  Restart();
  EXPECT_EQ(agent_->sink.All<core::SpawnArrived>().size(), 1u);
}

TEST_F(PmiRecoveryTest, AnIncompleteSpawnContinuesAfterARestart) {
  Init();
  const std::string spawn = kSpawn;
  for (size_t end = spawn.find('\n'); end + 1 < spawn.size();
       end = spawn.find('\n', end + 1)) {
    Send(spawn.substr(0, end + 1));
    Kill();
    Write(spawn.substr(end + 1));
    Restart();
    const auto spawned = agent_->sink.All<core::SpawnArrived>();
    ASSERT_EQ(spawned.size(), 1u) << end;
    EXPECT_EQ(spawned[0].call.view(), SpawnCallOfLines(spawn).value());
    agent_->Reply(spawned[0].request);
    EXPECT_EQ(Receive(), kSpawned);
  }
}

TEST_F(PmiRecoveryTest, APersistedLineThatIsStillInTheSocketIsReadOnce) {
  Init();
  Send("mcmd=spawn\nnprocs=1\nexecname=x\n");
  Kill();
  Write("execname=x\ntotspawns=1\nspawnssofar=1\nendcmd\n");
  Restart();
  EXPECT_EQ(agent_->sink.All<core::SpawnArrived>().size(), 1u);
}

TEST_F(PmiRecoveryTest, AWaitingSpawnIsRequestedAgainWithTheSameNumber) {
  Init();
  Send(kSpawn);
  const auto before = agent_->sink.All<core::SpawnArrived>();
  ASSERT_EQ(before.size(), 1u);
  Kill();
  Restart();
  const auto after = agent_->sink.All<core::SpawnArrived>();
  ASSERT_EQ(after.size(), 1u);
  EXPECT_EQ(after[0].request, before[0].request);
  EXPECT_EQ(after[0].call.view(), before[0].call.view());
  agent_->Reply(after[0].request);
  EXPECT_EQ(Receive(), kSpawned);
  // The next spawn is a different request.
  Kill();
  Restart();
  EXPECT_TRUE(agent_->sink.All<core::SpawnArrived>().empty());
  Send(kSpawn);
  EXPECT_EQ(agent_->sink.All<core::SpawnArrived>().at(0).request,
            before[0].request + 1);
}

TEST_F(PmiRecoveryTest, AWaitingNameIsPublishedAgainWithTheSameNumber) {
  Init();
  Send("cmd=publish_name service=s port=p\n");
  const auto before = agent_->sink.All<core::PublishArrived>();
  ASSERT_EQ(before.size(), 1u);
  Kill();
  Restart();
  const auto after = agent_->sink.All<core::PublishArrived>();
  ASSERT_EQ(after.size(), 1u);
  EXPECT_EQ(after[0].request, before[0].request);
}

TEST_F(PmiRecoveryTest, ASuccessorAnswersASpawnThatHasEnded) {
  Init();
  Send(kSpawn);
  Kill();
  const auto states = RankStates::Create(2);
  ASSERT_TRUE(states.ok());
  (*states)->SetChange(0, {true, 0, 1});
  fd_store_.files["pmi1.changes"].Reset(dup((*states)->changes_fd()));
  Restart();
  EXPECT_TRUE(agent_->sink.All<core::SpawnArrived>().empty());
  EXPECT_EQ(Receive(), kSpawned);
}

TEST_F(PmiRecoveryTest, StatesOfAnEarlierReleaseGetAFileOfChanges) {
  Init();
  fd_store_.files.erase("pmi1.changes");
  Kill();
  Restart();
  EXPECT_TRUE(fd_store_.files.contains("pmi1.changes"));
  Send("cmd=publish_name service=s port=p\n");
  EXPECT_EQ(agent_->sink.All<core::PublishArrived>().size(), 1u);
}

TEST_F(PmiRecoveryTest, TheSocketOfAnEndedClientIsReleased) {
  Init();
  EXPECT_TRUE(fd_store_.released.empty());
  client_.Reset();
  agent_->Settle();
  EXPECT_EQ(fd_store_.released, std::vector<std::string>{"pmi1.rank.1"});
  EXPECT_EQ(agent_->sink.All<core::ClientGone>().size(), 1u);
}

TEST_F(PmiRecoveryTest, AClosedConnectionEndsAlthoughAShimHoldsItsSocket) {
  Send("nonsense\n");
  EXPECT_EQ(Receive(), "closed");
}

TEST_F(PmiRecoveryTest, StatesOfAnotherSizeEndTheConnection) {
  Init();
  Kill();
  const auto states = RankStates::Create(7);
  ASSERT_TRUE(states.ok());
  fd_store_.files["pmi1.states"].Reset(dup((*states)->fd()));
  Restart();
  EXPECT_EQ(Receive(), "closed");
  EXPECT_TRUE(agent_->sink.inputs.empty());
}

TEST_F(PmiRecoveryTest, AFullDescriptorStoreIsLogged) {
  fd_store_.has_room = false;
  const UniqueFd other(agent_->endpoint.FdForRank(agent_->prepare, 2).fd);
  agent_->Settle();
  ASSERT_EQ(log_.size(), 1u);
  EXPECT_NE(log_[0].find("no room"), std::string::npos);
}

}  // namespace
}  // namespace canopy::pmi
