#include "server/runtime/runtime.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/status.h"
#include "server/core/core_testing.h"

namespace canopy {
namespace {

// Notes what it is asked for.
class FakeClients : public ClientPort {
 public:
  void AddJob(const core::RegisterJob&) override {}
  void DropJob(const std::string&) override {}
  void Reply(const core::ReplyClient& reply) override {
    Note("reply " + std::to_string(reply.request) +
         (reply.status == kSuccess ? "" : " " + std::to_string(reply.status)));
  }
  void Notify(const core::NotifyClient&) override {}
  void Close(core::ClientId, const std::string&) override {}
  void TakeCommits(const ProcId& proc) override {
    Note("take " + ToString(proc));
  }
  void AwaitCommit(const ProcId& proc) override {
    Note("await " + ToString(proc));
  }
  std::vector<std::string> Calls() { return std::exchange(calls_, {}); }

 private:
  void Note(std::string call) { calls_.push_back(std::move(call)); }
  std::vector<std::string> calls_;
};

class NoJobControl : public JobControlPort {
 public:
  Status Control(const core::ControlJob&, Bytes*) override { return {}; }
  void OnExits(const core::LocalExits&) override {}
  void DropJob(const std::string&) override {}
};

// Has room for jobs and for nothing that ranks commit.
class FullDatastore : public DatastorePort {
 public:
  Status AddJob(const core::RegisterJob&) override { return {}; }
  Status Publish(const core::PublishRank&) override {
    return Status(kErrOutOfResource, "full");
  }
  void DropJob(const std::string&) override {}
};

class NoProcesses : public ProcessPort {
 public:
  void Prepare(const core::PrepareLocal&) override {}
  void Start(const std::string&) override {}
  void Signal(const core::SignalLocal&) override {}
  void Kill(const core::KillLocal&) override {}
  void Forget(const std::string&) override {}
  void Credit(const core::CreditOutput&) override {}
  void ResendOutput(const std::string&) override {}
  void Feed(const core::FeedInput&) override {}
};

class NoObserver : public JobObserver {
 public:
  void OnJobChanged(const core::JobChanged&) override {}
  void OnOutput(const core::DeliverOutput&) override {}
  void OnOutputDelivered(const core::OutputDelivered&) override {}
  void OnInputConsumed(const core::InputConsumed&) override {}
  void OnStateCollected(const core::StateCollected&) override {}
};

class RuntimeTest : public testing::Test {
 protected:
  RuntimeTest() {
    core::CoreConfig config;
    config.node_names = {"a"};
    RuntimePorts ports;
    ports.datastore = &datastore_;
    ports.process = &processes_;
    ports.observer = &observer_;
    ports.job_control = &job_control_;
    ports.clients = {{ClientKind::kLocal, &clients_}};
    runtime_.emplace(&loop_, std::move(config), std::move(ports));
  }

  EventLoop loop_;
  FakeClients clients_;
  FullDatastore datastore_;
  NoProcesses processes_;
  NoObserver observer_;
  NoJobControl job_control_;
  std::optional<AgentRuntime> runtime_;
};

using Calls = std::vector<std::string>;

TEST_F(RuntimeTest, CommitsAreTakenBeforeAGetIsAnswered) {
  core::GetArrived get;
  get.client = MakeClientId(ClientKind::kLocal, 1);
  get.request = 5;
  get.target = {"job", 3};
  runtime_->OnInput(get);
  EXPECT_EQ(clients_.Calls(), (Calls{"take " + ToString(get.target),
                                     "reply 5 " + std::to_string(kErrInit)}));
}

TEST_F(RuntimeTest, CommitsAreTakenForOtherNodesAndAtTheEndOfAProcess) {
  core::PeerArrived peer;
  peer.message.dst = 7;
  peer.message.body = core::DmodexRequest{4, {"job", 2}, "key", 0, 0};
  runtime_->OnInput(std::move(peer));
  EXPECT_EQ(clients_.Calls().front(), "take " + ToString({"job", 2}));
  core::LocalExits exits;
  exits.nspace = "job";
  exits.exits.resize(2);
  exits.exits[1].rank = 1;
  runtime_->OnInput(exits);
  EXPECT_EQ(clients_.Calls(), (Calls{"take " + ToString({"job", 0}),
                                     "take " + ToString({"job", 1})}));
}

TEST_F(RuntimeTest, WhoCommitsMoreThanFitsLearnsIt) {
  runtime_->OnInput(core::LaunchRequested{core::JobOn("job", {0, 0})});
  runtime_->OnInput(core::LocalPrepared{"job", 0, ""});
  runtime_->OnInput(core::LocalStarted{"job", 2, 0, ""});
  core::Committed committed;
  committed.client = MakeClientId(ClientKind::kLocal, 1);
  committed.request = 9;
  committed.data = {{core::Scope::kGlobal, core::Kval("key")}};
  runtime_->OnInput(core::ClientConnected{committed.client, {"job", 0}});
  runtime_->OnInput(committed);
  EXPECT_EQ(clients_.Calls(),
            Calls{"reply 9 " + std::to_string(kErrOutOfResource)});
  // Nobody asked for an answer.
  committed.request = 0;
  runtime_->OnInput(committed);
  runtime_->OnInput(core::CommitTaken{{"job", 1}, committed.data});
  EXPECT_EQ(clients_.Calls(), Calls());
}

TEST_F(RuntimeTest, OtherInputsLookForNone) {
  runtime_->OnInput(core::Tick{});
  EXPECT_EQ(clients_.Calls(), Calls());
}

}  // namespace
}  // namespace canopy
