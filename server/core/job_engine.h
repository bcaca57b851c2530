// The life of jobs at one agent: two-phase launch down the tree, monitoring,
// standard streams, termination by policy, release. Part of AgentCore and
// equally pure.
#ifndef CANOPY_SERVER_CORE_JOB_ENGINE_H_
#define CANOPY_SERVER_CORE_JOB_ENGINE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/job.h"
#include "common/status.h"
#include "server/core/job_record.h"
#include "server/core/job_state.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/action.h"
#include "server/core/step/control_inputs.h"
#include "server/core/step/process_inputs.h"
#include "server/core/tree.h"
#include "server/core/why.h"

namespace canopy::core {

// Resynchronisation timeout: how long an agent that rejoined or was recovered
// waits for the other agents' state before it is authoritative. Agents that
// send SyncComplete end the wait earlier.
inline constexpr TimeNs kResyncTimeout = 10'000'000'000;

// The agent that receives the launch request, the root of the tree, controls
// the job: it collects every exit, applies the policy and receives the output.
// Policy: the first abnormal end (exit code, signal, or no finalize after init)
// ends the job; its exit code is that rank's.
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
  void set_persists(bool persists) { persists_ = persists; }
  // This agent was started at that time while other agents may know of jobs:
  // begins the resynchronisation.
  void set_began(TimeNs when);

  // The job's namespace is new; every agent index is in the tree. Answered by
  // JobChanged actions up to one with kEnded, whatever happens.
  void OnLaunchRequested(TimeNs now, const LaunchRequested& in,
                         Actions* actions);
  // JobPrepare, JobPrepared, JobStart, JobStarted, JobExits, JobSignal,
  // JobKill, JobForget, OutputData, OutputCredit, InputData, InputCredit, and
  // AbortMessage; false for any other body.
  bool OnPeer(TimeNs now, const PeerMessage& message, Actions* actions);

  // Whether a JobPrepare from `src` is deferred until the views of the tree
  // converge: this agent does not see the sender as its parent (yet). kNoNode
  // for `controller`: the root.
  bool DefersPrepare(NodeId src, NodeId controller) const;
  // Deferred messages released since the last call, which the caller passes to
  // OnPeer in order.
  std::vector<PeerMessage> TakeReleased();

  void OnLocalPrepared(TimeNs now, const LocalPrepared& in, Actions* actions);
  // With an error status, `procs` is how many run anyway; unless that is 0,
  // every local rank gets its exit, those that were not started too.
  void OnLocalStarted(TimeNs now, const LocalStarted& in, Actions* actions);
  void OnLocalExits(TimeNs now, const LocalExits& in, Actions* actions);
  void OnLocalOutput(TimeNs now, const LocalOutput& in, Actions* actions);
  void OnLocalInputDone(TimeNs now, const LocalInputDone& in, Actions* actions);

  // These only have an effect at the job's controller. A signal before the
  // processes run is dropped. A second kill request means SIGKILL at once.
  void OnSignalRequested(TimeNs now, const SignalRequested& in,
                         Actions* actions);
  void OnKillRequested(TimeNs now, const KillRequested& in, Actions* actions);
  void OnAbort(TimeNs now, const AbortMessage& in, Actions* actions);
  void OnOutputConsumed(TimeNs now, const OutputConsumed& in, Actions* actions);
  void OnInputOffered(TimeNs now, const InputOffered& in, Actions* actions);

  void OnNodeLost(TimeNs now, NodeId node, const std::string& reason,
                  Actions* actions);
  // The caller has updated the tree.
  void OnNodeReturned(TimeNs now, Actions* actions);
  // A job that this agent controlled without leaving a record is ended here.
  void OnRecovered(TimeNs now, const JobRecovered& in, Actions* actions);
  void OnLauncherReattached(TimeNs now, const LauncherReattached& in,
                            Actions* actions);
  void OnNodeRestarted(TimeNs now, NodeId node, Actions* actions);
  // Ends the resynchronisation of the node, which rejoined or whose agent was
  // restarted: it has been sent all jobs that concern it.
  void SendSyncComplete(NodeId node, Actions* actions) const;
  void OnTick(TimeNs now, Actions* actions);
  // When OnTick wants to be called next; kNever when it does not.
  TimeNs NextDeadline() const;
  // Adds what jobs controlled here wait for: agents that have yet to prepare or
  // to start, processes that are to end, and output. An empty namespace means
  // all.
  void Describe(TimeNs now, const std::string& nspace,
                std::vector<Waiting>* out) const;
  // The agent that controls the job; the root when it is not known here.
  NodeId ControllerOf(const std::string& nspace) const;
  size_t num_jobs() const {
    return jobs_.size() + deferred_.size() + inquirers_.size() +
           released_.size();
  }

 private:
  struct StepContext {
    TimeNs now;
    Actions& out;
  };

  bool Defer(const PeerMessage& message);

  // Divergent views of the tree (job_engine_tree.cc).
  void QueryWhetherOver(StepContext& step, NodeId src,
                        const std::string& nspace);
  void DeferPrepare(StepContext& step, NodeId src, const std::string& nspace,
                    const JobPrepare& m);
  void ReleaseDeferred(StepContext& step);
  // Whether a job unknown here is unknown everywhere: this agent is the
  // confirmed root and resynchronised.
  bool IsAuthoritative() const;

  JobState* Find(const std::string& nspace);
  JobState* FindControlled(const std::string& nspace);
  void Send(StepContext& step, NodeId to, MessageBody body);
  void Log(StepContext& step, LogLine::Level level, std::string text);

  // Launch phases, at every agent (job_engine_launch.cc).
  JobState& Add(StepContext& step, const std::shared_ptr<const JobSpec>& spec,
                const JobPrepare& m);
  static JobPrepare PrepareFor(const JobState& job);
  void AskToPrepare(StepContext& step, JobState& job);
  void Answer(JobState& job, LaunchPhase& phase, NodeId from,
              PhaseAnswer answer);
  void BeginStart(StepContext& step, JobState& job);
  void Advance(StepContext& step, JobState& job);
  void AdvancePrepare(StepContext& step, JobState& job);
  void AdvanceStart(StepContext& step, JobState& job);
  void SendExitsUp(StepContext& step, JobState& job);
  void RecordExit(StepContext& step, JobState& job, const ProcExit& exit);
  void RecordNeverStarted(StepContext& step, JobState& job);
  void MarkNodeLost(StepContext& step, JobState& job, NodeId node,
                    const std::string& reason);
  void RecordLost(StepContext& step, JobState& job);
  void Signal(StepContext& step, JobState& job, const JobSignal& signal);
  void Kill(StepContext& step, JobState& job, const JobKill& kill,
            uint32_t grace_ms);
  // Whether `src` may end the job here: the agents on the route to its
  // controller, and the root, which knows every remaining job.
  bool MayEnd(const JobState& job, NodeId src) const;
  // Whether `src` is a child of this agent in the job; otherwise it becomes a
  // provisional child.
  bool IsChild(JobState& job, NodeId src);
  void Forget(StepContext& step, JobState& job);
  void SendForget(StepContext& step, const JobState& job);
  void Drop(StepContext& step, JobState& job);
  void MarkNodeEnded(const JobState& job, NodeId node);
  void Reshape(StepContext& step, JobState& job);
  static void ResendAnswers(JobState& job);
  static void NoteFinished(const std::string& nspace,
                           std::deque<std::string>* jobs);
  void EndLocalPart(StepContext& step, JobState& job);
  void SyncChild(StepContext& step, JobState& job, NodeId child);
  void OnControllerLost(StepContext& step, JobState& job,
                        const std::string& reason);

  // Recovery after a restart or handover of an agent (job_engine_recovery.cc).
  static std::optional<HeadRecord> RecordOf(TimeNs now, const JobRecovered& in);
  void DropRecovered(StepContext& step, const JobRecovered& in);
  // Marks the node as resynchronised (or never to be); true when it was the
  // last one awaited.
  bool MarkSynced(NodeId node);
  void PersistController(StepContext& step, const JobState& job);
  void PersistHead(StepContext& step, JobState& job);
  void RecoverHead(StepContext& step, JobState& job, const HeadRecord& record);
  void RecoverLocalPart(StepContext& step, JobState& job,
                        const JobRecovered& in);
  void RequestInput(StepContext& step, const JobState& job);

  void On(StepContext& step, NodeId src, const JobPrepare& m);
  void On(StepContext& step, NodeId src, const JobPrepared& m);
  void On(StepContext& step, NodeId src, const JobStart& m);
  void On(StepContext& step, NodeId src, const JobStarted& m);
  void On(StepContext& step, NodeId src, const JobExits& m);
  void On(StepContext& step, NodeId src, const JobSignal& m);
  void On(StepContext& step, NodeId src, const JobKill& m);
  void On(StepContext& step, NodeId src, const JobForget& m);
  void On(StepContext& step, NodeId src, const OutputData& m);
  void On(StepContext& step, NodeId src, const OutputCredit& m);
  void On(StepContext& step, NodeId src, const InputData& m);
  void On(StepContext& step, NodeId src, const InputCredit& m);
  void On(StepContext& step, NodeId src, const AbortMessage& m);

  // What the controller decides (job_engine_control.cc).
  Status MayLaunch(const JobSpec& spec) const;
  void End(StepContext& step, JobState& job, JobFailure failure);
  void Finish(StepContext& step, JobState& job);
  void AdvanceHead(StepContext& step, JobState& job);
  void Report(StepContext& step, JobState& job, JobPhase phase);
  void FailLaunch(StepContext& step, JobState& job, const PhaseAnswer& answer);
  void MarkRanksLost(StepContext& step, JobState& job, NodeId node,
                     const std::string& reason);
  void AbortJob(StepContext& step, JobState& job, const AbortMessage& abort,
                const std::vector<Rank>& ranks);
  void OnTimeLimit(StepContext& step, JobState& job);
  void TimeOut(StepContext& step, JobState& job, const std::string& reason);

  // Output and input at the controller (job_engine_streams.cc).
  bool AllDelivered(StepContext& step, JobState& job);
  void DeliverStream(StepContext& step, JobState& job,
                     const OutputData& output);
  void ResendCredit(StepContext& step, const JobState& job, uint32_t node);
  void OnDrainTimeout(StepContext& step, JobState& job);
  void SendInput(StepContext& step, JobState& job,
                 const InputLog::Piece& piece);
  void TakeInput(StepContext& step, JobState& job, uint32_t node,
                 uint64_t bytes, uint64_t total);
  void ResendInput(StepContext& step, JobState& job, uint32_t node,
                   uint64_t from);

  // What a job waits for (job_engine_why.cc).
  std::vector<Rank> AwaitedOf(const JobState& job,
                              std::string* operation) const;
  std::vector<Rank> AwaitedIn(const JobState& job,
                              const LaunchPhase& phase) const;

  const NodeId self_;
  const std::vector<std::string> node_names_;
  const Tree& tree_;
  JobTable& table_;
  bool persists_ = false;
  // Ordered, so that what happens does not depend on a hash.
  std::map<std::string, std::unique_ptr<JobState>> jobs_;
  // Agents below that reported about jobs unknown here, by job.
  std::map<std::string, std::set<NodeId>> inquirers_;
  // Agents not seen since this one was partitioned from all others: they may
  // have been alive all the time.
  std::set<NodeId> unconfirmed_members_;
  // When the remaining ones count as lost.
  TimeNs confirm_deadline_ = kNever;
  // Agents that have not completed their resynchronisation with this new agent:
  // jobs may run for which it only forwards messages.
  std::set<NodeId> unsynced_members_;
  // When the remaining ones count as resynchronised.
  TimeNs resync_deadline_ = kNever;
  // Jobs without a process here any more, and jobs that ended everywhere.
  std::deque<std::string> finished_;
  std::deque<std::string> ended_everywhere_;
  // Deferred messages of jobs whose JobPrepare came from an agent that this one
  // does not see as its parent: the JobPrepare first, then what followed.
  std::map<std::string, DeferredMessages> deferred_;
  std::vector<PeerMessage> released_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_ENGINE_H_
