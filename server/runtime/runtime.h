// Feeds inputs to the core and executes its actions.
#ifndef CANOPY_SERVER_RUNTIME_RUNTIME_H_
#define CANOPY_SERVER_RUNTIME_RUNTIME_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/event_loop.h"
#include "common/ids.h"
#include "common/status.h"
#include "server/core/agent_core.h"
#include "server/core/step/action.h"
#include "server/ports/client_port.h"
#include "server/ports/datastore_port.h"
#include "server/ports/facts_port.h"
#include "server/ports/host_port.h"
#include "server/ports/input_observer.h"
#include "server/ports/input_sink.h"
#include "server/ports/job_observer.h"
#include "server/ports/overlay_port.h"
#include "server/ports/persistence_port.h"
#include "server/ports/process_port.h"
#include "server/runtime/slow_turns.h"

namespace canopy {

struct RuntimePorts {
  OverlayPort* overlay = nullptr;
  DatastorePort* datastore = nullptr;
  ProcessPort* process = nullptr;
  HostPort* host = nullptr;
  FactsPort* facts = nullptr;
  PersistencePort* persistence = nullptr;  // null: a successor cannot recover
  std::map<ClientKind, ClientPort*> clients;
  JobObserver* jobs = nullptr;
  std::vector<InputObserver*> observers;  // called in this order
  std::function<void(const core::LogLine&)> log;
  // Takes the samples that UsageWanted has requested; may be null.
  std::function<void(const core::UsageTaken&)> usage;
  std::function<void(const std::string& reason)> end;
};

// Owns the core. Inputs are queued, so an adapter's port is never called from
// within the adapter's own OnInput. Work that an adapter defers after an input
// runs after the actions of that input.
//
// Everything runs on the loop thread; other threads use EventLoop::Post. The
// loop must not run after this object is destroyed.
class AgentRuntime : public InputSink {
 public:
  explicit AgentRuntime(EventLoop* loop);

  // Creates the core; called once. Earlier inputs stay queued until then. The
  // ports are called from now on, until the loop's last round.
  void Start(core::CoreConfig config, RuntimePorts ports);

  void OnInput(core::Input input) override;
  // Also called between the stages of a recovery, and before this process
  // becomes another program.
  void Drain() override;
  void NoteWork(int64_t began_ms,
                const std::function<std::string()>& cause) override;

  // Returns the number of turns that took at least kSlowTurnMs (slow_turns.h).
  uint64_t slow_turns() const { return slow_turns_.count(); }

 private:
  void Schedule();
  void Observe(const core::Input& input);
  void Step(const core::Input& input);
  // Collects the commits that precede an input and queues them in front of it.
  // Commits are collected nowhere else.
  void DrawCommitsBefore(const core::Input& input);
  void Execute(core::Action& action);

  void Do(core::SendPeer& action);
  void Do(core::ReplyClient& action);
  void Do(core::ReleaseFence& action);
  void Do(core::NotifyClient& action);
  void Do(core::AskHost& action);
  void Do(core::CloseClient& action);
  void Do(core::ToolGone& action);
  void Do(core::RegisterJob& action);
  void Do(core::DropJob& action);
  void Do(core::PublishRank& action);
  void Do(core::SetIncarnation& action);
  void Do(core::JobHeld& action);
  void Do(core::AwaitCommit& action);
  void Do(core::PrepareLocal& action);
  void Do(core::StartLocal& action);
  void Do(core::RestartLocal& action);
  void Do(core::SignalLocal& action);
  void Do(core::KillLocal& action);
  void Do(core::ForgetLocal& action);
  void Do(core::CreditOutput& action);
  void Do(core::ResendOutput& action);
  void Do(core::PersistRecord& action);
  void Do(core::PersistControlState& action);
  void Do(core::FeedInput& action);
  void Do(core::SetDeadline& action);
  void Do(core::HostSpawn& action);
  void Do(core::JobChanged& action);
  void Do(core::JobElsewhere& action);
  void Do(core::DeliverOutput& action);
  void Do(core::OutputDelivered& action);
  void Do(core::InputConsumed& action);
  void Do(core::StateCollected& action);
  void Do(core::ReadFacts& action);
  void Do(core::UsageTaken& action);
  void Do(core::EndAgent& action);
  void Do(core::LogLine& action);

  EventLoop* loop_;
  std::unique_ptr<core::AgentCore> core_;  // null before Start
  RuntimePorts ports_;
  std::vector<core::Input> queue_;
  // The part of the queue that is being handled.
  std::vector<core::Input> batch_;
  bool scheduled_ = false;  // a Drain is scheduled for the end of the round
  bool draining_ = false;
  EventLoop::TimerId timer_ = 0;
  // Jobs whose segment could not be created, with the reason. Their
  // PrepareLocal fails.
  std::map<std::string, Status> unusable_;
  SlowTurns slow_turns_;
};

}  // namespace canopy

#endif  // CANOPY_SERVER_RUNTIME_RUNTIME_H_
