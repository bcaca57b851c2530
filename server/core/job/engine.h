// The life of jobs at one agent: two-phase launch down the tree, monitoring,
// standard streams, termination by policy, release. Part of AgentCore and
// equally pure.
#ifndef CANOPY_SERVER_CORE_JOB_ENGINE_H_
#define CANOPY_SERVER_CORE_JOB_ENGINE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "common/ids.h"
#include "server/core/job/job_set.h"
#include "server/core/job/messages.h"
#include "server/core/job/output_tap.h"
#include "server/core/job/resync.h"
#include "server/core/job/step.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/action.h"
#include "server/core/step/control_inputs.h"
#include "server/core/step/persisted_state.h"
#include "server/core/step/process_inputs.h"
#include "server/core/tree.h"
#include "server/core/why.h"

namespace canopy::core {

// The agent that receives the launch request, the root of the tree, controls
// the job: it collects every exit, applies the policy and receives the output.
// The engine hands each input to the classes that it is made of:
//
//   JobSet       the jobs here, each with
//     JobPart      its part: launch, ends, messages up and down; PartStreams,
//                  the streams of the ranks here
//     JobHead      what the controller decides; JobStreams, the job's streams
//   JobMessages  messages of other agents
//   JobResync    divergent views, and jobs that are not known here
//
// Who calls: AgentCore, from one thread. `actions` is appended to and is never
// null. The caller has updated the tree before OnNodeLost. Whether a process
// had initialized and finalized is taken from the job table. Inputs that name
// an unknown job are ignored unless stated otherwise.
class JobEngine {
 public:
  // `node_names` by NodeId. Tree and table outlive the engine; the engine adds
  // jobs to the table before RegisterJob, marks there who ended, and removes
  // them with DropJob.
  JobEngine(NodeId self, std::vector<std::string> node_names, const Tree& tree,
            JobTable& table);

  // Emits PersistRecord and PersistControlState for a successor.
  void set_persists(bool persists) { jobs_.set_persists(persists); }
  // Gets the output of the jobs that are controlled here; outlives the engine.
  void set_tap(OutputTap* tap) { tap_ = tap; }
  // This agent was started at that time while other agents may know of jobs:
  // begins the resynchronisation.
  void set_began(TimeNs when) { resync_.Begin(when); }

  // The job's namespace is new; every agent index is in the tree. Answered by
  // JobChanged actions up to one with kEnded, whatever happens.
  void OnLaunchRequested(TimeNs now, const LaunchRequested& in,
                         Actions* actions);
  // The messages about the life of jobs, their streams and
  // resynchronisation; false for any other body.
  bool OnPeer(TimeNs now, const PeerMessage& message, Actions* actions);

  // Whether a JobPrepare from `src` is deferred until the views of the tree
  // converge: this agent does not see the sender as its parent (yet).
  bool DefersPrepare(NodeId src, NodeId controller) const {
    return resync_.DefersPrepare(src, controller);
  }
  // Deferred messages released since the last call, which the caller passes to
  // OnPeer in order.
  std::vector<PeerMessage> TakeReleased() { return resync_.TakeReleased(); }

  void OnLocalPrepared(TimeNs now, const LocalPrepared& in, Actions* actions);
  // With an error status, `procs` is how many run anyway; unless that is 0,
  // every local rank gets its exit, those that were not started too.
  void OnLocalStarted(TimeNs now, const LocalStarted& in, Actions* actions);
  void OnLocalExits(TimeNs now, const LocalExits& in, Actions* actions);
  // Another process of the rank, which is a local one, is to follow.
  bool WillRestart(const LocalExits& in, const ProcExit& exit) const;
  // The local rank was told to end, alone or with its job.
  bool ToldToEnd(const std::string& nspace, Rank rank) const;
  void OnLocalOutput(TimeNs now, const LocalOutput& in, Actions* actions);
  void OnLocalInputDone(TimeNs now, const LocalInputDone& in, Actions* actions);

  // These only have an effect at the job's controller. A signal before the
  // processes run is dropped. A second kill request means SIGKILL at once.
  void OnSignalRequested(TimeNs now, const SignalRequested& in,
                         Actions* actions);
  void OnKillRequested(TimeNs now, const KillRequested& in, Actions* actions);
  void OnTimeLimitSet(TimeNs now, const TimeLimitSet& in, Actions* actions);
  // Debuggers do not hold it any more: its time limit is later than it was.
  void OnHoldEnded(TimeNs now, const std::string& nspace, Actions* actions);
  void OnAbort(TimeNs now, const AbortMessage& in, Actions* actions);
  // Ends ranks of the job (empty: all) for that reason, one line; to do so
  // twice does no harm. `immediately`: SIGKILL, without time to end.
  void EndRanks(TimeNs now, const std::string& nspace,
                const std::vector<Rank>& ranks, const std::string& reason,
                bool immediately, Actions* actions);
  void OnOutputConsumed(TimeNs now, const OutputConsumed& in, Actions* actions);
  void OnInputOffered(TimeNs now, const InputOffered& in, Actions* actions);
  void OnLauncherReattached(TimeNs now, const LauncherReattached& in,
                            Actions* actions);

  void OnNodeLost(TimeNs now, NodeId node, const std::string& reason,
                  Actions* actions);
  // The caller has updated the tree.
  void OnNodeReturned(TimeNs now, Actions* actions);
  void OnNodeRestarted(TimeNs now, NodeId node, Actions* actions);
  // A job that this agent controlled without leaving a record is ended here.
  void OnRecovered(TimeNs now, const JobRecovered& in, Actions* actions);
  // Ends the resynchronisation of the node, which rejoined or whose agent was
  // restarted: it has been sent all jobs that concern it.
  void SendSyncComplete(NodeId node, Actions* actions) const {
    resync_.SendSyncComplete(node, actions);
  }
  // The table has the job's map, because of this engine or not; the others have
  // not heard of it yet.
  void OnJobAdded(const std::string& nspace) { jobs_.OnMap(nspace); }
  void OnTick(TimeNs now, Actions* actions);
  // When OnTick wants to be called next; kNever when it does not.
  TimeNs NextDeadline() const;
  // Adds what jobs controlled here wait for: agents that have yet to prepare or
  // to start, processes that are to end, and output. An empty namespace means
  // all.
  void Describe(TimeNs now, const std::string& nspace,
                std::vector<Waiting>* out) const;
  // How the job is, as a PMIx status, at the agent that controls it: kSuccess
  // while nothing of it has failed; kLaunching while it is launched.
  // kSuccess elsewhere.
  int StatusOf(const std::string& nspace) const;
  // When its time limit ends it; kNever: it has none, or is not controlled
  // here.
  TimeNs EndsAt(const std::string& nspace) const;
  // Agents of the job that were lost with their ranks since its launch, as far
  // as this one has a part of it. Ascending.
  std::vector<NodeId> LostOf(const std::string& nspace) const;
  // The agent that controls the job; the root when it is not known here.
  NodeId ControllerOf(const std::string& nspace) const;
  // The agent has a part in the job, and not only its map.
  bool TakesPart(const std::string& nspace) const {
    return jobs_.Find(nspace) != nullptr;
  }
  // This agent knows that the job has ended everywhere.
  bool HasEnded(const std::string& nspace) const {
    return resync_.HasEnded(nspace);
  }
  // A job that is not known here is not known anywhere.
  bool IsAuthoritative() const { return resync_.IsAuthoritative(); }
  size_t num_jobs() const { return jobs_.size() + resync_.size(); }

 private:
  JobStep StepAt(TimeNs now, Actions* actions) const {
    return {now, self_, tree_, *actions, tap_, &table_.holds()};
  }
  // Messages for parts that had to wait for the end of others.
  void TakeDeferred(const JobStep& step);

  const NodeId self_;
  const Tree& tree_;
  JobTable& table_;
  OutputTap* tap_ = nullptr;
  JobResync resync_;
  JobSet jobs_;
  JobMessages messages_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_ENGINE_H_
