// Job control at the agent that controls the targets' job, and at the agents
// where the targets run.
#ifndef CANOPY_SERVER_CORE_HOST_CONTROL_TARGETS_H_
#define CANOPY_SERVER_CORE_HOST_CONTROL_TARGETS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "server/core/host/control_records.h"
#include "server/core/host/job_control.h"
#include "server/core/host/refusals.h"
#include "server/core/job/engine.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/clock.h"
#include "server/core/step/persisted_state.h"
#include "server/core/step/step_context.h"
#include "server/core/tree.h"
#include "server/core/why.h"

namespace canopy::core {

// Maximum time for targets to end, or for their agents to answer.
inline constexpr TimeNs kControlTimeout = 60'000'000'000;

// The controller sends each agent that has targets a request to signal them,
// and repeats the request until it is answered. Each agent executes a request
// once and records it, so a controller need not know its predecessor's
// requests. The job engine ends targets, and a repeated request to it does no
// harm. Not synchronised.
class ControlTargets {
 public:
  struct Answer {
    NodeId to = kNoNode;
    HostReply reply;
  };

  // All references outlive this object.
  ControlTargets(NodeId self, const Tree& tree, const JobTable& jobs,
                 JobEngine& engine);

  // Handles a request from the caller's agent or from the job's controller.
  // TakeAnswers returns the replies.
  void OnRequest(const StepContext& step, NodeId src,
                 const HostRequest& request);
  // Handles a reply from an agent with targets, about a job that is controlled
  // here.
  void OnReply(NodeId src, const HostReply& reply);
  std::vector<Answer> TakeAnswers() { return std::exchange(answers_, {}); }

  // Called when all processes of the job may have been started.
  void OnLaunched(const StepContext& step, const std::string& nspace);
  // Called when the rank may have ended.
  void OnRankGone(const ProcId& proc);
  void OnJobRemoved(const std::string& nspace);
  // Called when messages or nodes may have been lost.
  void OnTreeChanged(const StepContext& step);
  void Recover(const std::string& nspace, const PersistedRecord& record) {
    records_.Recover(nspace, record);
  }
  void OnTick(TimeNs now);
  TimeNs NextDeadline() const;
  void Describe(TimeNs now, const std::string& nspace,
                std::vector<Waiting>* out) const;
  size_t size() const { return executions_.size(); }

 private:
  // the namespace of the target job, and the request
  using Key = std::pair<std::string, ControlId>;
  struct Execution {
    HostRequest request;
    JobControl control;
    NodeId origin = kNoNode;
    TimeNs since = 0;
    bool waits_for_launch = false;
    std::set<NodeId> nodes;  // agents that have not answered
    std::set<Rank> ranks;    // ranks that have not ended
    bool done = false;       // true: executed for at least one target
    int error = 0;           // the first error other than "not found"

    bool ends() const { return control.action != ControlAction::kSignal; }
    bool open() const { return !nodes.empty() || !ranks.empty(); }
  };

  void Begin(const StepContext& step, NodeId src, const HostRequest& request);
  int Check(const Job& job, const HostRequest& request) const;
  void Execute(const StepContext& step, const Key& key);
  void End(const StepContext& step, Execution* execution);
  void Signal(const StepContext& step, Execution* execution);
  void Ask(const StepContext& step, NodeId node, Execution* execution);
  void AskAgain(const StepContext& step, Execution* execution);
  int SignalHere(const StepContext& step, const HostRequest& request);
  static void Note(NodeId node, int status, Execution* execution);
  static int StatusOf(const Execution& execution);
  void FinishIfDone(const Key& key);
  void Finish(const Key& key, int status);
  // Rejects a request that was not begun.
  void Refuse(TimeNs now, NodeId src, const HostRequest& request, int status);
  void Leave(NodeId to, const HostRequest& request, int status);
  std::vector<Key> KeysOf(const std::string& nspace) const;
  Waiting Report(TimeNs now, const Execution& execution) const;

  const NodeId self_;
  const Tree& tree_;
  const JobTable& jobs_;
  JobEngine& engine_;
  ControlRecords records_;
  Refusals refusals_;
  std::map<Key, Execution> executions_;
  std::vector<Answer> answers_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_HOST_CONTROL_TARGETS_H_
