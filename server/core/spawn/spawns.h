// PMIx_Spawn, as agents pass it on: the spawner's agent holds a request until
// it is answered, and the agent that controls the spawner's job has it
// executed, once.
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
#include "server/core/job/engine.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/action.h"
#include "server/core/step/client_inputs.h"
#include "server/core/step/clock.h"
#include "server/core/step/control_actions.h"
#include "server/core/step/control_inputs.h"
#include "server/core/why.h"

namespace canopy::core {

// A request is (process, its number); processes of one rank, one after the
// other, count in ranges of their own. It may come again: from a client that
// has reattached, or from an agent that does not know whether a message of its
// own was lost with another. The agent that controls the spawner's job
// therefore keeps the answers. When that agent is lost, the spawner's job ends,
// and with it the request. A process has at most kMaxHeld requests at a time,
// so its last kMaxHeld answers are all that can be asked for again.
//
// What a tool spawns the root executes, and ends when the tool or its node is
// gone; with the root it ends anyway, and is executed anew by the next one
// where it was not answered.
//
// Not synchronised. Table and engine outlive it.
class Spawns {
 public:
  static constexpr size_t kMaxHeld = kMaxSpawnsOfProcess;  // of one process
  static constexpr size_t kMaxCall = 4 << 20;              // bytes

  Spawns(NodeId self, JobTable& jobs, const JobEngine& engine);

  // At the spawner's agent. kErrOutOfResource: too many at a time, or a call
  // that is too large.
  void OnArrived(TimeNs now, const SpawnArrived& in, Actions* actions);
  // Whether the answer is to a request that is held here, and by whom it must
  // come. The caller then adds the job's map to the table before OnReply.
  bool Awaits(NodeId src, const SpawnReply& reply) const;
  void OnReply(const SpawnReply& reply, Actions* actions);
  // While it is known whose client it was.
  void OnClientGone(ClientId client, Actions* actions);
  // Messages may have been lost: the requests are sent again.
  void SendAgain(Actions* actions);

  // At the agent that controls the spawner's job.
  void OnRequest(NodeId src, const SpawnRequest& request, Actions* actions);
  void OnDone(const SpawnDone& in, Actions* actions);
  // Its tools are gone.
  void OnNodeLost(NodeId node, Actions* actions);
  // What a predecessor was executing.
  void OnRecovered(const SpawnRecovered& in);

  // Nobody of the job can be answered any more.
  void OnJobRemoved(const std::string& nspace);
  // Adds the requests held here. An empty namespace means all.
  void Describe(TimeNs now, const std::string& nspace,
                std::vector<Waiting>* out) const;
  // Requests that are held or executed here.
  size_t num_pending() const { return held_.size() + executing_.size(); }
  // Processes whose requests were answered here.
  size_t num_answered() const { return answers_.size(); }

 private:
  struct Id {
    ProcId proc;
    RequestId request = 0;

    auto operator<=>(const Id&) const = default;
  };
  struct Held {
    ClientId client = 0;
    RequestId request = 0;  // as the client numbers it
    Bytes call;
    TimeNs since = 0;
  };

  RequestId NumberOf(const ProcId& proc, RequestId request) const;
  size_t NumHeld(const ProcId& proc) const;
  void Send(const Id& id, const Held& held, Actions* actions);
  void OnToolRequest(NodeId src, const SpawnRequest& request, Actions* actions);
  void OnToolGone(NodeId src, const ProcId& tool, Actions* actions);
  void Execute(const SpawnRequest& request, Actions* actions);
  NodeId AgentOf(const ProcId& proc) const;
  void Answer(const SpawnDone& done, Actions* actions);
  const SpawnDone* FindAnswer(const Id& id) const;

  const NodeId self_;
  JobTable& jobs_;
  const JobEngine& engine_;
  std::map<Id, Held> held_;
  std::set<Id> executing_;
  std::map<ProcId, std::deque<SpawnDone>> answers_;  // newest last
  std::map<ProcId, NodeId> tools_;  // whose spawns are executed here
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_SPAWN_SPAWNS_H_
