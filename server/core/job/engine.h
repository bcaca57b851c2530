// Runs the life of jobs at one agent: two-phase launch down the tree,
// monitoring, standard streams, termination by policy, release. The engine is
// part of AgentCore and equally pure: it has no sockets, threads or clock.
#ifndef CANOPY_SERVER_CORE_JOB_ENGINE_H_
#define CANOPY_SERVER_CORE_JOB_ENGINE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "common/ids.h"
#include "server/core/engine.h"
#include "server/core/job/job_set.h"
#include "server/core/job/messages.h"
#include "server/core/job/output_tap.h"
#include "server/core/job/resync.h"
#include "server/core/job/step.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/control_inputs.h"
#include "server/core/step/persisted_state.h"
#include "server/core/step/process_inputs.h"
#include "server/core/step/step_context.h"
#include "server/core/tree.h"
#include "server/core/why.h"

namespace canopy::core {

// The agent that receives the launch request is the leader, or the agent that
// executes a spawn. It controls the job: it collects every exit, applies the
// policy and receives the output. The engine passes each input to the classes
// of which it consists:
//
//   JobSet       the jobs at this agent, each with
//     JobPart      the agent's part: launch, ends of ranks, messages up and
//                  down the tree; PartStreams, the streams of local ranks
//     JobHead      the decisions of the controller; JobStreams, the streams of
//                  the whole job
//   JobMessages  messages of other agents
//   JobResync    divergent views, and jobs that this agent does not have
//
// AgentCore calls the engine from one thread. The engine appends its actions to
// those of the step. AgentCore updates the tree before it calls OnNodeLost.
// Whether a process has initialized and finalized is in the job table. Inputs
// that name an unknown job are ignored unless stated otherwise.
class JobEngine final : public Engine {
 public:
  // `node_names` is indexed by NodeId and may grow. All references outlive the
  // engine. The engine adds jobs to the table before it emits RegisterJob,
  // marks there the ranks that have ended, and removes jobs with DropJob.
  JobEngine(NodeId self, const std::vector<std::string>& node_names,
            const Tree& tree, JobTable& table);

  // Makes the engine emit PersistRecord and PersistControlState for a
  // successor.
  void set_persists(bool persists) override { jobs_.set_persists(persists); }
  // The tap receives the output of the jobs that this agent controls. It
  // outlives the engine.
  void set_tap(OutputTap* tap) { tap_ = tap; }
  // Begins the resynchronisation of an agent that was started at `when`, while
  // other agents may know of jobs.
  void set_began(TimeNs when) override { resync_.Begin(when); }

  // Launches a job. The engine answers with JobChanged actions; the last one
  // has kEnded, whatever happens. A job that cannot be launched gets only this
  // last action. That is the case if the namespace exists, if a node's agent is
  // not up, or if this agent is neither the leader nor the root and no process
  // has spawned the job.
  void OnLaunchRequested(const StepContext& step, const LaunchRequested& in);
  // Handles the messages about the life of jobs, their streams and
  // resynchronisation. Returns false for any other body.
  bool OnPeer(const StepContext& step, const PeerMessage& message);

  // Returns whether a JobPrepare from `src` is deferred until the views of the
  // tree converge, because this agent does not (yet) see the sender as its
  // parent.
  bool DefersPrepare(NodeId src, NodeId controller) const {
    return resync_.DefersPrepare(src, controller);
  }

  void OnLocalPrepared(const StepContext& step, const LocalPrepared& in);
  // After an error, `procs` is the number of processes that run nevertheless.
  // Unless it is 0, the shim reports an exit for every local rank, including
  // those that were not started.
  void OnLocalStarted(const StepContext& step, const LocalStarted& in);
  void OnLocalExits(const StepContext& step, const LocalExits& in);
  // Returns whether the local rank of `exit` gets a new process.
  bool WillRestart(const LocalExits& in, const ProcExit& exit) const;
  // Returns whether the local rank was ordered to end, alone or with its job.
  bool ToldToEnd(const std::string& nspace, Rank rank) const;
  void OnLocalOutput(const StepContext& step, const LocalOutput& in);
  void OnLocalInputDone(const StepContext& step, const LocalInputDone& in);

  // A signal is forwarded to the job's controller, if the job is known. A
  // signal that arrives before the processes run is dropped.
  void OnSignalRequested(const StepContext& step, const SignalRequested& in);
  // The next two functions have an effect only at the job's controller. A
  // second kill request sends SIGKILL at once.
  void OnKillRequested(const StepContext& step, const KillRequested& in);
  void OnTimeLimitSet(const StepContext& step, const TimeLimitSet& in);
  // Records that debuggers no longer hold the job, which postpones its time
  // limit.
  void OnHoldEnded(const StepContext& step, const std::string& nspace);
  void OnAbort(const StepContext& step, const AbortMessage& in);
  // Ends `ranks` of the job (empty: all). `reason` is one line of text.
  // Repeating the call does no harm. With `immediately`, the ranks get SIGKILL
  // without a grace period.
  void EndRanks(const StepContext& step, const std::string& nspace,
                const std::vector<Rank>& ranks, const std::string& reason,
                bool immediately);
  void OnOutputConsumed(const StepContext& step, const OutputConsumed& in);
  void OnInputOffered(const StepContext& step, const InputOffered& in);
  void OnLauncherReattached(const StepContext& step,
                            const LauncherReattached& in);

  void OnNodeLost(const StepContext& step, const NodeStateChanged& in) override;
  // The caller must have updated the tree.
  void OnNodeReturned(const StepContext& step) override;
  void OnNodeRestarted(const StepContext& step, NodeId node) override;
  void OnJobRemoved(const StepContext& step, const RemovedJob& job) override;
  // Adds the job to the table, so the caller calls this function before it
  // notifies the other engines (OnJobRecovered). Ends the job if the agent's
  // predecessor controlled it and left no record of it that can be read.
  void OnRecovered(const StepContext& step, const JobRecovered& in);
  // Called after this agent has sent all jobs that concern `node` to that node,
  // which has rejoined or whose agent was restarted. Notifies the node if it is
  // the root, which waits for this notification (JobResync).
  void SendSyncComplete(const StepContext& step, NodeId node) const {
    resync_.SendSyncComplete(step, node);
  }
  // Records that the table has the job's map, whether or not this engine added
  // it. The caller notifies the other engines later.
  void OnJobAdded(const StepContext& /*step*/,
                  const std::string& nspace) override {
    jobs_.OnMap(nspace);
  }
  void OnTick(const StepContext& step) override;
  // Returns when OnTick must be called next, or kNever.
  TimeNs NextDeadline() const override;
  // Appends the operations for which the jobs that this agent controls wait:
  // agents that have yet to prepare or start, processes that have yet to end,
  // and output. An empty namespace means all jobs.
  void Describe(TimeNs now, const std::string& nspace,
                std::vector<Waiting>* out) const override;
  void Count(ResourceCounts* counts) const override {
    counts->launched = num_jobs();
  }
  // Returns the job's state as a PMIx status. At its controller: kLaunching
  // during the launch, the status of the first failure, or kSuccess. Elsewhere:
  // kSuccess.
  int StatusOf(const std::string& nspace) const;
  // Returns when the time limit ends the job; kNever if the job has no limit or
  // another agent controls it.
  TimeNs EndsAt(const std::string& nspace) const;
  // Returns the agents of the job that were lost with their ranks since its
  // launch, ascending; none if this agent has no part in the job.
  std::vector<NodeId> LostOf(const std::string& nspace) const;
  // Returns the agent that controls the job, or the leader if this agent does
  // not know the controller.
  NodeId ControllerOf(const std::string& nspace) const;
  // Returns the jobs that this agent controls, in the order of their names.
  std::vector<std::string> Controlled() const;
  bool Controls(const std::string& nspace) const {
    const JobEntry* job = jobs_.Find(nspace);
    return job != nullptr && job->head != nullptr;
  }
  // Returns whether the agent has a part in the job, and not only its map.
  bool TakesPart(const std::string& nspace) const {
    return jobs_.Find(nspace) != nullptr;
  }
  // Returns whether this agent knows that the job has ended everywhere.
  bool HasEnded(const std::string& nspace) const {
    return resync_.HasEnded(nspace);
  }
  // Returns whether a job that is unknown to this agent is unknown everywhere.
  bool IsAuthoritative() const { return resync_.IsAuthoritative(); }
  size_t num_jobs() const { return jobs_.size() + resync_.size(); }

 private:
  JobStep StepOf(const StepContext& context) const {
    return {{context.now, context.out, events()},
            self_,
            tree_,
            tap_,
            &table_.holds()};
  }
  // Handles the messages for parts that were deferred until the end of earlier
  // parts.
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
