#include "server/runtime/runtime.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/status.h"
#include "server/core/core_testing.h"
#include "server/core/step/facts.h"
#include "server/ports/coarse_clock.h"
#include "server/ports/facts_port.h"
#include "server/ports/input_sink.h"
#include "server/runtime/slow_turns.h"

namespace canopy {
namespace {

// Records the calls.
class FakeClients : public ClientPort {
 public:
  void AddJob(const core::RegisterJob&) override {}
  void DropJob(const std::string&) override {}
  void Reply(const core::ReplyClient& reply) override {
    Note("reply " + std::to_string(reply.request) +
         (reply.status == kSuccess ? "" : " " + std::to_string(reply.status)));
  }
  void ReleaseFence(const core::ReleaseFence& release) override {
    Note("release " + std::to_string(release.clients.size()) +
         (release.status == kSuccess ? ""
                                     : " " + std::to_string(release.status)));
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

  void Note(std::string call) {
    calls_.push_back(std::move(call));
    if (on_call) std::exchange(on_call, nullptr)();
  }
  std::function<void()> on_call;

 private:
  std::vector<std::string> calls_;
};

class NoHost : public HostPort {
 public:
  void Ask(const core::AskHost&) override {}
  void DropJob(const std::string&) override {}
};

// A FactsPort that answers at once, without values.
class NoFacts : public FactsPort {
 public:
  explicit NoFacts(InputSink* sink) : sink_(sink) {}
  void Read(const core::ReadFacts& request) override {
    core::FactsRead read;
    read.number = request.number;
    read.values.resize(request.keys.size());
    sink_->OnInput(std::move(read));
  }

 private:
  InputSink* const sink_;
};

// A datastore that has room for jobs, but not for data that ranks commit.
class FullDatastore : public DatastorePort {
 public:
  Status AddJob(const core::RegisterJob&) override { return {}; }
  Status Publish(const core::PublishRank&) override {
    return Status(kErrOutOfResource, "full");
  }
  void SetIncarnation(const ProcId&, uint32_t) override {}
  void DropJob(const std::string&) override {}
};

class NoProcesses : public ProcessPort {
 public:
  void Prepare(const core::PrepareLocal&) override {}
  void Start(const core::StartLocal&) override {}
  void Restart(const core::RestartLocal&) override {}
  void Signal(const core::SignalLocal&) override {}
  void Kill(const core::KillLocal&) override {}
  void Forget(const std::string&) override {}
  void Credit(const core::CreditOutput&) override {}
  void ResendOutput(const std::string&) override {}
  void Feed(const core::FeedInput&) override {}
};

class NoJobs : public JobObserver {
 public:
  void OnJobChanged(const core::JobChanged&) override {}
  void OnSpawn(const core::HostSpawn&) override {}
  void OnOutput(const core::DeliverOutput&) override {}
  void OnOutputDelivered(const core::OutputDelivered&) override {}
  void OnInputConsumed(const core::InputConsumed&) override {}
  void OnStateCollected(const core::StateCollected&) override {}
  void OnJobElsewhere(const core::JobElsewhere&) override {}
};

// Records its calls in the same list as the clients.
class FakeObserver : public InputObserver {
 public:
  explicit FakeObserver(FakeClients* clients) : clients_(clients) {}
  void OnNodeStateChanged(const core::NodeStateChanged& change) override {
    clients_->Note("node " + std::to_string(change.node));
  }
  void OnLocalExits(const core::LocalExits& exits) override {
    clients_->Note("exits of " + exits.nspace);
  }

 private:
  FakeClients* const clients_;
};

class RuntimeTest : public testing::Test {
 protected:
  RuntimeTest() { Start(); }

  void Start() {
    core::CoreConfig config;
    config.node_names = {"a"};
    RuntimePorts ports;
    ports.datastore = &datastore_;
    ports.process = &processes_;
    ports.jobs = &jobs_;
    ports.observers = {&observer_};
    ports.host = &host_;
    ports.facts = &facts_;
    ports.clients = {{ClientKind::kLocal, &clients_}};
    runtime_.Start(std::move(config), std::move(ports));
  }
  // Handles the input and all inputs that follow from it.
  void Put(core::Input input) {
    runtime_.OnInput(std::move(input));
    runtime_.Drain();
  }
  static core::GetArrived Get(core::RequestId request) {
    core::GetArrived get;
    get.client = MakeClientId(ClientKind::kLocal, 1);
    get.request = request;
    get.target = {"job", 3};
    return get;
  }
  // Returns the reply that an unconnected client gets.
  static std::string Refusal(core::RequestId request) {
    return "reply " + std::to_string(request) + " " + std::to_string(kErrInit);
  }

  EventLoop loop_;
  FakeClients clients_;
  FullDatastore datastore_;
  NoProcesses processes_;
  FakeObserver observer_{&clients_};
  NoJobs jobs_;
  NoHost host_;
  AgentRuntime runtime_{&loop_};
  NoFacts facts_{&runtime_};
};

using Calls = std::vector<std::string>;

TEST_F(RuntimeTest, TheTargetsCommitsAreTakenBeforeAGetIsAnswered) {
  Put(Get(5));
  EXPECT_EQ(clients_.Calls(),
            (Calls{"take " + ToString({"job", 3}), Refusal(5)}));
}

TEST_F(RuntimeTest, CommitsAreTakenForRemoteGetsAndEndedProcesses) {
  core::PeerArrived peer;
  peer.message.dst = 7;
  peer.message.body = core::DmodexRequest{4, {"job", 2}, "key", 0, 0};
  Put(std::move(peer));
  EXPECT_EQ(clients_.Calls().front(), "take " + ToString({"job", 2}));
  core::LocalExits exits;
  exits.nspace = "job";
  exits.exits.resize(2);
  exits.exits[1].rank = 1;
  Put(exits);
  EXPECT_EQ(clients_.Calls(),
            (Calls{"take " + ToString({"job", 0}),
                   "take " + ToString({"job", 1}), "exits of job"}));
}

TEST_F(RuntimeTest, AFenceInTheBarrierIsReleasedByOneCall) {
  Put(core::LaunchRequested{core::JobOn("job", {0, 0})});
  core::LocalFenceArrived fence;
  for (const Rank rank : {0, 1}) {
    fence.clients.push_back(MakeClientId(ClientKind::kLocal, rank + 1));
    Put(core::ClientConnected{fence.clients.back(), {"job", rank}});
  }
  Put(fence);
  EXPECT_EQ(clients_.Calls(), Calls{"release 2"});
  fence.clients = {MakeClientId(ClientKind::kLocal, 9)};
  Put(fence);
  EXPECT_EQ(clients_.Calls(), Calls{"release 1 " + std::to_string(kErrInit)});
}

TEST_F(RuntimeTest, ACommitThatDoesNotFitGetsAnError) {
  Put(core::LaunchRequested{core::JobOn("job", {0, 0})});
  Put(core::LocalPrepared{"job", 0, ""});
  Put(core::LocalStarted{"job", 2, 0, ""});
  core::Committed committed;
  committed.client = MakeClientId(ClientKind::kLocal, 1);
  committed.request = 9;
  committed.data = {{core::Scope::kGlobal, core::Kval("key")}};
  Put(core::ClientConnected{committed.client, {"job", 0}});
  Put(committed);
  EXPECT_EQ(clients_.Calls(),
            Calls{"reply 9 " + std::to_string(kErrOutOfResource)});
  // Without a request there is no reply.
  committed.request = 0;
  Put(committed);
  Put(core::CommitTaken{{"job", 1}, committed.data});
  EXPECT_EQ(clients_.Calls(), Calls());
}

TEST_F(RuntimeTest, AnAdapterIsNotCalledFromWithinItsInput) {
  runtime_.OnInput(Get(5));
  EXPECT_EQ(clients_.Calls(), Calls{"take " + ToString({"job", 3})});
  loop_.RunOnce(0);
  EXPECT_EQ(clients_.Calls(), Calls{Refusal(5)});
}

TEST_F(RuntimeTest, WorkDeferredAfterAnInputRunsAfterItsActions) {
  runtime_.OnInput(Get(5));
  loop_.Defer([this] { clients_.Note("deferred"); });
  clients_.Calls();
  loop_.RunOnce(0);
  EXPECT_EQ(clients_.Calls(), (Calls{Refusal(5), "deferred"}));
}

TEST_F(RuntimeTest, AnInputThatAnActionCausesIsHandledAfterTheQueuedOnes) {
  runtime_.OnInput(Get(5));
  runtime_.OnInput(Get(6));
  clients_.on_call = [this] {
    runtime_.OnInput(Get(7));
    runtime_.Drain();
  };
  clients_.Calls();
  runtime_.Drain();
  EXPECT_EQ(clients_.Calls(), (Calls{Refusal(5), "take " + ToString({"job", 3}),
                                     Refusal(6), Refusal(7)}));
  loop_.RunOnce(0);
  EXPECT_EQ(clients_.Calls(), Calls()) << "nothing is handled twice";
}

TEST_F(RuntimeTest, InputsBeforeStartAreQueued) {
  AgentRuntime early(&loop_);
  early.OnInput(Get(5));
  early.Drain();
  loop_.RunOnce(0);
  EXPECT_EQ(clients_.Calls(), Calls());
  core::CoreConfig config;
  config.node_names = {"a"};
  RuntimePorts ports;
  ports.clients = {{ClientKind::kLocal, &clients_}};
  early.Start(std::move(config), std::move(ports));
  loop_.RunOnce(0);
  EXPECT_EQ(clients_.Calls(), Calls{Refusal(5)});
}

TEST_F(RuntimeTest, ObserversSeeAnInputBeforeTheCore) {
  core::NodeStateChanged change;
  change.node = 1;
  AgentRuntime two(&loop_);
  core::CoreConfig config;
  config.node_names = {"a", "b"};
  RuntimePorts ports;
  ports.observers = {&observer_};
  ports.log = [this](const core::LogLine&) { clients_.Note("log"); };
  two.Start(std::move(config), std::move(ports));
  two.OnInput(change);
  EXPECT_EQ(clients_.Calls(), Calls());
  two.Drain();
  EXPECT_EQ(clients_.Calls(), (Calls{"node 1", "log"}));
}

TEST_F(RuntimeTest, SlowWorkIsCounted) {
  const auto cause = [] { return std::string("work"); };
  runtime_.NoteWork(CoarseMs(), cause);
  EXPECT_EQ(runtime_.slow_turns(), 0u);
  runtime_.NoteWork(CoarseMs() - 2 * kSlowTurnMs, cause);
  EXPECT_EQ(runtime_.slow_turns(), 1u);
}

// Each of the inputs takes less than the least duration of a slow turn.
TEST_F(RuntimeTest, ATurnOfManyInputsIsCounted) {
  struct Slow : InputObserver {
    void OnNodeStateChanged(const core::NodeStateChanged&) override {
      usleep((kSlowTurnMs - 10) * 1000);
    }
  } slow;
  AgentRuntime two(&loop_);
  core::CoreConfig config;
  config.node_names = {"a", "b"};
  RuntimePorts ports;
  ports.observers = {&slow};
  two.Start(std::move(config), std::move(ports));
  for (int i = 0; i < 3; ++i) two.OnInput(core::NodeStateChanged{});
  two.Drain();
  EXPECT_EQ(two.slow_turns(), 1u);
}

TEST_F(RuntimeTest, ATickTakesNoCommits) {
  Put(core::Tick{});
  EXPECT_EQ(clients_.Calls(), Calls());
}

}  // namespace
}  // namespace canopy
