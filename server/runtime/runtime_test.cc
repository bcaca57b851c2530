#include "server/runtime/runtime.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace canopy {
namespace {

// Notes what it is asked for.
class FakeClients : public ClientPort {
 public:
  void AddJob(const core::RegisterJob&) override {}
  void DropJob(const std::string&) override {}
  void Reply(const core::ReplyClient& reply) override {
    Note("reply " + std::to_string(reply.request));
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

class RuntimeTest : public testing::Test {
 protected:
  RuntimeTest() {
    core::CoreConfig config;
    config.node_names = {"a"};
    RuntimePorts ports;
    ports.job_control = &job_control_;
    ports.clients = {{ClientKind::kLocal, &clients_}};
    runtime_.emplace(&loop_, std::move(config), std::move(ports));
  }

  EventLoop loop_;
  FakeClients clients_;
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
  EXPECT_EQ(clients_.Calls(),
            (Calls{"take " + ToString(get.target), "reply 5"}));
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

TEST_F(RuntimeTest, OtherInputsLookForNone) {
  runtime_->OnInput(core::Tick{});
  EXPECT_EQ(clients_.Calls(), Calls());
}

}  // namespace
}  // namespace canopy
