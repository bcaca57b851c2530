// PMIx_Spawn between agents: the spawner's agent holds a request until it is
// answered, and the agent that controls the spawner's job has it executed once.
#ifndef CANOPY_SERVER_CORE_SPAWN_SPAWNS_H_
#define CANOPY_SERVER_CORE_SPAWN_SPAWNS_H_

#include <compare>
#include <cstddef>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/engine.h"
#include "server/core/job/engine.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/client_inputs.h"
#include "server/core/step/clock.h"
#include "server/core/step/control_actions.h"
#include "server/core/step/control_inputs.h"
#include "server/core/step/step_context.h"
#include "server/core/why.h"

namespace canopy::core {

// A request is identified by the process and its number; successive processes
// of one rank use separate ranges of numbers. A request may arrive again: from
// a client that has reattached, or from an agent that does not know whether its
// message was lost with another agent. The agent that controls the spawner's
// job therefore keeps the answers. When that agent is lost, the spawner's job
// ends, and the request with it. A process has at most kMaxHeld requests at a
// time, so only its last kMaxHeld answers can be requested again.
//
// All spawns of a tool are executed by the agent that was the leader at the
// first of them. It ends them when the tool or its node is gone. If it is lost,
// they end with it; the present leader executes again those that were not
// answered.
//
// Not synchronised. Table and engine outlive this object.
class Spawns final : public Engine {
 public:
  // Maximum number of pending requests of one process.
  static constexpr size_t kMaxHeld = kMaxSpawnsOfProcess;
  static constexpr size_t kMaxCall = 4 << 20;  // bytes

  Spawns(NodeId self, JobTable& jobs, const JobEngine& engine);

  // Called at the spawner's agent. The reply is kErrInit if the client is no
  // process of a job, and kErrOutOfResource if the process has too many pending
  // requests or the call is too large.
  void OnArrived(const StepContext& step, const SpawnArrived& in);
  // Returns true if the answer belongs to a request that this agent holds and
  // comes from the agent that executes the request. The caller then adds the
  // job's map to the table before it calls OnReply.
  bool Awaits(NodeId src, const SpawnReply& reply) const;
  void OnReply(const StepContext& step, const SpawnReply& reply);
  // Must be called while the process of the client is still known.
  void OnClientGone(const StepContext& step, ClientId client) override;
  // Both functions repeat the pending requests, because messages may have been
  // lost.
  void OnTreeChanged(const StepContext& step) override { SendAgain(step); }
  void OnNodeRestarted(const StepContext& step, NodeId) override {
    SendAgain(step);
  }

  // The following functions are called at the agent that controls the spawner's
  // job.
  void OnRequest(const StepContext& step, NodeId src,
                 const SpawnRequest& request);
  void OnDone(const StepContext& step, const SpawnDone& in);
  // Called when the node is lost: its tools are gone.
  void OnNodeLost(const StepContext& step, const NodeStateChanged& in) override;
  // Called for a spawn that a predecessor was executing.
  void OnRecovered(const SpawnRecovered& in);

  // Called when the job is over, so that its processes get no more answers.
  void OnJobRemoved(const StepContext& step, const RemovedJob& job) override;
  // Appends the requests that this agent holds. An empty namespace means all.
  void Describe(TimeNs now, const std::string& nspace,
                std::vector<Waiting>* out) const override;
  void Count(ResourceCounts* counts) const override {
    counts->spawns = num_pending();
  }
  // Returns the number of requests that this agent holds or executes.
  size_t num_pending() const { return held_.size() + executing_.size(); }
  // Returns the number of processes whose requests this agent has answered.
  size_t num_answered() const { return answers_.size(); }

 private:
  struct Id {
    ProcId proc;
    RequestId request = 0;

    auto operator<=>(const Id&) const = default;
  };
  struct Held {
    ClientId client = 0;
    RequestId request = 0;  // numbered by the client
    Bytes call;
    TimeNs since = 0;
  };

  RequestId NumberOf(const ProcId& proc, RequestId request) const;
  size_t NumHeld(const ProcId& proc) const;
  void Send(const StepContext& step, const Id& id, const Held& held);
  void OnToolRequest(const StepContext& step, NodeId src,
                     const SpawnRequest& request);
  void OnToolGone(const StepContext& step, NodeId src, const ProcId& tool);
  void SendAgain(const StepContext& step);
  void Execute(const StepContext& step, const SpawnRequest& request);
  NodeId AgentOf(const ProcId& proc) const;
  NodeId ExecutorOf(const ProcId& spawner) const;
  void Answer(const StepContext& step, const SpawnDone& done);
  const SpawnDone* FindAnswer(const Id& id) const;

  const NodeId self_;
  JobTable& jobs_;
  const JobEngine& engine_;
  std::map<Id, Held> held_;
  std::set<Id> executing_;
  std::map<ProcId, std::deque<SpawnDone>> answers_;  // newest last
  // the agents of tools whose spawns this agent executes
  std::map<ProcId, NodeId> tools_;
  // the agents that execute the spawns of local tools
  std::map<ProcId, NodeId> executors_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_SPAWN_SPAWNS_H_
