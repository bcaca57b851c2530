#include <gtest/gtest.h>
#include <sys/socket.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/pmi1/pmi1_endpoint.h"
#include "server/pmi1/spawn_text.h"
#include "server/ports/fake_fd_store.h"
#include "server/ports/fake_sink.h"

namespace canopy::pmi1 {
namespace {

constexpr char kInit[] = "cmd=init pmi_version=1 pmi_subversion=1\n";
constexpr char kInitAnswer[] =
    "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n";
constexpr core::RequestId kBarrier = 1;
constexpr core::RequestId kFinalize = 2;

core::RegisterJob Registration() {
  JobSpec job;
  job.nspace = "job";
  job.apps.resize(1);
  job.nodes = {{"a", {}, 0, 4}, {"b", {}, 1, 4}};
  job.procs = {{1, 0, ""}, {0, 0, ""}, {0, 0, ""}};
  core::RegisterJob registration;
  registration.layout = std::make_shared<JobLayout>(job);
  registration.job = std::make_shared<JobSpec>(std::move(job));
  return registration;
}

// One agent and the core behind it.
struct Agent {
  explicit Agent(Pmi1Options options)
      : endpoint(&loop, &sink, std::move(options)) {
    const core::RegisterJob job = Registration();
    prepare = {job.job, job.layout};
    endpoint.AddJob(job);
  }
  void Settle() {
    for (int i = 0; i < 4; ++i) loop.RunOnce(0);
  }
  core::ClientId Client() const {
    return sink.All<core::ClientConnected>().at(0).client;
  }
  void Reply(core::RequestId request, int status = 0) {
    endpoint.Reply({Client(), request, status, {}});
    Settle();
  }

  EventLoop loop;
  FakeSink sink;
  core::PrepareLocal prepare;
  Pmi1Endpoint endpoint;
};

class Pmi1RecoveryTest : public testing::Test {
 protected:
  Pmi1RecoveryTest() {
    agent_ = std::make_unique<Agent>(Options());
    client_.Reset(agent_->endpoint.FdForRank(agent_->prepare, 1).fd);
    agent_->Settle();
  }

  Pmi1Options Options() {
    Pmi1Options options;
    options.find_key = [](const std::string&, std::string_view) {
      return std::optional<std::string>();
    };
    options.find_job_key = options.find_key;
    options.fd_store = &fd_store_;
    options.log = [this](const core::LogLine& l) { log_.push_back(l.text); };
    return options;
  }

  void Write(const std::string& text) {
    ASSERT_EQ(send(client_.get(), text.data(), text.size(), 0),
              static_cast<ssize_t>(text.size()));
  }
  void Send(const std::string& text) {
    Write(text);
    agent_->Settle();
  }
  std::string Receive() {
    char buffer[4096];
    const ssize_t n = recv(client_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (n == 0) return "closed";
    return n < 0 ? "" : std::string(buffer, static_cast<size_t>(n));
  }
  void Init() {
    Send(kInit);
    EXPECT_EQ(Receive(), kInitAnswer);
  }
  // The agent ends at this instruction.
  void Kill() { agent_.reset(); }
  void Restart() {
    agent_ = std::make_unique<Agent>(Options());
    std::vector<NamedFd> persisted = fd_store_.Recovered();
    for (const NamedFd& one : persisted) {
      EXPECT_TRUE(Pmi1Endpoint::IsPersistedName(one.name));
    }
    agent_->endpoint.Recover("job", std::move(persisted));
    agent_->Settle();
  }
  uint64_t Barriers() const {
    const auto reattached = agent_->sink.All<core::ClientReattached>();
    if (reattached.size() != 1 || reattached[0].counts.size() != 1) return 9999;
    EXPECT_TRUE(reattached[0].counts[0].participants.empty());
    return reattached[0].counts[0].ended;
  }
  // As if the former agent had been killed before it took back the command.
  void PutStates(const RankState& state) {
    const auto states = RankStates::Create(2);
    ASSERT_TRUE(states.ok());
    (*states)->Set(0, state);
    fd_store_.files["pmi1.states"].Reset(dup((*states)->fd()));
  }

  FakeFdStore fd_store_;
  std::vector<std::string> log_;
  std::unique_ptr<Agent> agent_;
  UniqueFd client_;
};

TEST_F(Pmi1RecoveryTest, WhoHasNotBegunBeginsWithTheNext) {
  Kill();
  Restart();
  EXPECT_TRUE(agent_->sink.inputs.empty());
  Init();
  EXPECT_EQ(agent_->Client(),
            agent_->sink.All<core::ClientConnected>()[0].client);
}

TEST_F(Pmi1RecoveryTest, WhatIsAskedMeanwhileIsAnsweredByTheNext) {
  Init();
  Kill();
  Write("cmd=get_my_kvsname\n");
  Restart();
  EXPECT_EQ(Receive(), "cmd=my_kvsname rc=0 kvsname=job\n");
  EXPECT_EQ(agent_->sink.All<core::ClientConnected>().size(), 1u);
  EXPECT_EQ(Barriers(), 0u);
}

TEST_F(Pmi1RecoveryTest, ABarrierThatWaitsGoesOnWaiting) {
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

TEST_F(Pmi1RecoveryTest, APutThatWaitsIsCommittedAgain) {
  Init();
  Send("cmd=put kvsname=job key=k value=v\n");
  Kill();
  Restart();
  EXPECT_EQ(agent_->sink.All<core::Committed>().size(), 1u);
}

TEST_F(Pmi1RecoveryTest, WhoHasFinalizedHas) {
  Init();
  Send("cmd=finalize\n");
  agent_->Reply(kFinalize);
  EXPECT_EQ(Receive(), "cmd=finalize_ack\n");
  Kill();
  Restart();
  EXPECT_EQ(agent_->sink.All<core::FinalizeArrived>().size(), 1u);
}

TEST_F(Pmi1RecoveryTest, ABarrierThatWasToBeAnsweredIsAnswered) {
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

TEST_F(Pmi1RecoveryTest, AnAnswerThatIsNotReadIsNotGivenAgain) {
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

TEST_F(Pmi1RecoveryTest, WhoWentOnHasHadItsAnswer) {
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

TEST_F(Pmi1RecoveryTest, LinesOfASpawnBelongTogether) {
  Init();
  Kill();
  Write(kSpawn);
  Restart();
  EXPECT_EQ(agent_->sink.All<core::SpawnArrived>().size(), 1u);
}

TEST_F(Pmi1RecoveryTest, ASpawnGoesOnWhereItsLinesEnded) {
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
    EXPECT_EQ(spawned[0].call.view(), SpawnCallOf(spawn).value());
    agent_->Reply(spawned[0].request);
    EXPECT_EQ(Receive(), kSpawned);
  }
}

TEST_F(Pmi1RecoveryTest, ALineThatWasPersistedAndNotTakenCountsOnce) {
  Init();
  Send("mcmd=spawn\nnprocs=1\nexecname=x\n");
  Kill();
  Write("execname=x\ntotspawns=1\nspawnssofar=1\nendcmd\n");
  Restart();
  EXPECT_EQ(agent_->sink.All<core::SpawnArrived>().size(), 1u);
}

TEST_F(Pmi1RecoveryTest, ASpawnThatWaitsIsPutAgainUnderItsNumber) {
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
  // The next one is another.
  Kill();
  Restart();
  EXPECT_TRUE(agent_->sink.All<core::SpawnArrived>().empty());
  Send(kSpawn);
  EXPECT_EQ(agent_->sink.All<core::SpawnArrived>().at(0).request,
            before[0].request + 1);
}

TEST_F(Pmi1RecoveryTest, ANameThatWaitsIsPublishedAgainUnderItsNumber) {
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

TEST_F(Pmi1RecoveryTest, ASpawnThatWasToBeAnsweredIsAnswered) {
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

TEST_F(Pmi1RecoveryTest, StatesOfReleaseOneAreCompleted) {
  Init();
  fd_store_.files.erase("pmi1.changes");
  Kill();
  Restart();
  EXPECT_TRUE(fd_store_.files.contains("pmi1.changes"));
  Send("cmd=publish_name service=s port=p\n");
  EXPECT_EQ(agent_->sink.All<core::PublishArrived>().size(), 1u);
}

TEST_F(Pmi1RecoveryTest, ASocketThatNobodyNeedsIsReleased) {
  Init();
  EXPECT_TRUE(fd_store_.released.empty());
  client_.Reset();
  agent_->Settle();
  EXPECT_EQ(fd_store_.released, std::vector<std::string>{"pmi1.rank.1"});
  EXPECT_EQ(agent_->sink.All<core::ClientGone>().size(), 1u);
}

TEST_F(Pmi1RecoveryTest, TheEndOfAConnectionIsSeenThoughItsSocketIsKept) {
  Send("nonsense\n");
  EXPECT_EQ(Receive(), "closed");
}

TEST_F(Pmi1RecoveryTest, StatesOfAnotherJobEndTheConnection) {
  Init();
  Kill();
  const auto states = RankStates::Create(7);
  ASSERT_TRUE(states.ok());
  fd_store_.files["pmi1.states"].Reset(dup((*states)->fd()));
  Restart();
  EXPECT_EQ(Receive(), "closed");
  EXPECT_TRUE(agent_->sink.inputs.empty());
}

TEST_F(Pmi1RecoveryTest, NoRoomIsSaid) {
  fd_store_.has_room = false;
  const UniqueFd other(agent_->endpoint.FdForRank(agent_->prepare, 2).fd);
  agent_->Settle();
  ASSERT_EQ(log_.size(), 1u);
  EXPECT_NE(log_[0].find("no room"), std::string::npos);
}

}  // namespace
}  // namespace canopy::pmi1
