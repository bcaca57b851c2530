// The loop that feeds the core and executes what it asks for.
#ifndef CANOPY_SERVER_RUNTIME_RUNTIME_H_
#define CANOPY_SERVER_RUNTIME_RUNTIME_H_

#include <deque>
#include <functional>
#include <map>
#include <string>

#include "common/event_loop.h"
#include "common/ids.h"
#include "server/core/agent_core.h"
#include "server/core/step/action.h"
#include "server/ports/client_port.h"
#include "server/ports/datastore_port.h"
#include "server/ports/input_sink.h"
#include "server/ports/job_control_port.h"
#include "server/ports/overlay_port.h"
#include "server/ports/process_port.h"

namespace canopy {

// Observer of the jobs that this agent controls. Loop thread.
class JobObserver {
 public:
  virtual ~JobObserver() = default;
  virtual void OnJobChanged(const core::JobChanged& change) = 0;
  virtual void OnOutput(const core::DeliverOutput& output) = 0;
  virtual void OnOutputDelivered(const core::OutputDelivered& output) = 0;
  virtual void OnInputConsumed(const core::InputConsumed& input) = 0;
  virtual void OnStateCollected(const core::StateCollected& state) = 0;
};

// Persists state for a successor. Loop thread.
class PersistencePort {
 public:
  virtual ~PersistencePort() = default;
  // The job's processes are about to be made: there is a shim now.
  virtual void AddJob(const std::string& nspace) = 0;
  virtual void Persist(const core::PersistRecord& record) = 0;
  virtual void Persist(const core::PersistControlState& record) = 0;
  virtual void DropJob(const std::string& nspace) = 0;
};

struct RuntimePorts {
  OverlayPort* overlay = nullptr;
  DatastorePort* datastore = nullptr;
  ProcessPort* process = nullptr;
  JobControlPort* job_control = nullptr;
  PersistencePort* persistence = nullptr;  // null: no successor can recover
  std::map<ClientKind, ClientPort*> clients;
  JobObserver* observer = nullptr;
  std::function<void(const core::LogLine&)> log;
  std::function<void(const std::string& reason)> end;
};

// Owns the core. Everything runs on the loop thread; other threads reach it by
// EventLoop::Post. The ports must outlive it.
class AgentRuntime : public InputSink {
 public:
  AgentRuntime(EventLoop* loop, core::CoreConfig config, RuntimePorts ports);

  // Steps the core at once, or queues the input when called from within the
  // execution of an action.
  void OnInput(core::Input input) override;

 private:
  void Drain();
  // Reports earlier commits before the input.
  void TakeCommits(const core::Input& input);
  void TakeCommitsOf(const ProcId& proc);
  void Execute(core::Action action);

  void Do(core::SendPeer& action);
  void Do(core::ReplyClient& action);
  void Do(core::NotifyClient& action);
  void Do(core::ControlJob& action);
  void Do(core::CloseClient& action);
  void Do(core::RegisterJob& action);
  void Do(core::DropJob& action);
  void Do(core::PublishRank& action);
  void Do(core::AwaitCommit& action);
  void Do(core::PrepareLocal& action);
  void Do(core::StartLocal& action);
  void Do(core::SignalLocal& action);
  void Do(core::KillLocal& action);
  void Do(core::ForgetLocal& action);
  void Do(core::CreditOutput& action);
  void Do(core::ResendOutput& action);
  void Do(core::PersistRecord& action);
  void Do(core::PersistControlState& action);
  void Do(core::FeedInput& action);
  void Do(core::SetDeadline& action);
  void Do(core::JobChanged& action);
  void Do(core::DeliverOutput& action);
  void Do(core::OutputDelivered& action);
  void Do(core::InputConsumed& action);
  void Do(core::StateCollected& action);
  void Do(core::EndAgent& action);
  void Do(core::LogLine& action);

  EventLoop* loop_;
  core::AgentCore core_;
  RuntimePorts ports_;
  std::deque<core::Input> queue_;
  bool draining_ = false;
  EventLoop::TimerId timer_ = 0;
  // Jobs whose segment could not be made, and why: their PrepareLocal fails.
  std::map<std::string, Status> unusable_;
};

}  // namespace canopy

#endif  // CANOPY_SERVER_RUNTIME_RUNTIME_H_
