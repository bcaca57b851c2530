// Jobs as an agent sees them: launched in two phases down the tree, watched,
// fed, ended by policy and forgotten. Part of AgentCore and as pure as it.
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

// How long an agent that was cut off and is back, or is new, waits for word of
// the others (a new one: of those that do not say when they have told all)
// before it speaks for all.
inline constexpr TimeNs kHearing = 10'000'000'000;

// The agent at which a launch is asked for, the root of the tree, controls the
// job: it hears of every end, applies the policy and gets the output. Policy:
// the first abnormal end (exit code, signal, or no finalize after init) ends
// the job; its exit code is that rank's.
//
// Who calls: AgentCore, from one thread. `actions` is appended to and is never
// null. The caller has updated the tree before OnNodeLost. Whether a process
// had initialized and finalized is taken from the job table. What names an
// unknown job is ignored, unless it is said otherwise.
class JobEngine {
 public:
  // `node_names` by NodeId. Tree and table outlive the engine; the engine adds
  // jobs to the table before RegisterJob, marks there who ended, and removes
  // them with DropJob.
  JobEngine(NodeId self, std::vector<std::string> node_names, const Tree& tree,
            JobTable& table);

  // Another agent may go on in this one's place: gives out Remember and
  // RememberControl.
  void set_remembers(bool remembers) { remembers_ = remembers; }
  // This agent began at that time: others may know of jobs, or be about to.
  void set_began(TimeNs when);

  // The job's namespace is new; every agent index is in the tree. Answered by
  // JobChanged actions up to one with kEnded, whatever happens.
  void OnLaunchRequested(TimeNs now, const LaunchRequested& in,
                         Actions* actions);
  // JobPrepare, JobPrepared, JobStart, JobStarted, JobExits, JobSignal,
  // JobKill, JobForget, OutputData, OutputCredit, InputData, InputCredit, and
  // AbortMessage; false for any other body.
  bool OnPeer(TimeNs now, const PeerMessage& message, Actions* actions);

  // A JobPrepare from `src` will be kept until the tree changes: this agent
  // does not (yet) see it above itself. kNoNode for `controller`: the root.
  bool KeepsForLater(NodeId src, NodeId controller) const;
  // Messages that were kept so and are to be looked at again, since the last
  // call; the caller brings them to OnPeer, in order.
  std::vector<PeerMessage> TakeKept();

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
  // Of a job that this agent controlled and has no record of, what runs here
  // ends.
  void OnRecovered(TimeNs now, const JobRecovered& in, Actions* actions);
  void OnCallerAttached(TimeNs now, const CallerAttached& in, Actions* actions);
  void OnNodeRestarted(TimeNs now, NodeId node, Actions* actions);
  // The node has been told of all jobs that it is to know of, since it is back
  // or its agent was restarted.
  void SayAllTold(NodeId node, Actions* actions) const;
  void OnTick(TimeNs now, Actions* actions);
  // When OnTick wants to be called next; kNever when it does not.
  TimeNs NextDeadline() const;
  // Adds what jobs that are controlled here wait for: agents that have yet to
  // prepare or to start, processes that were told to end, and output. An empty
  // namespace means all.
  void Describe(TimeNs now, const std::string& nspace,
                std::vector<Waiting>* out) const;
  // The agent that controls the job; the root when it is not known here.
  NodeId ControllerOf(const std::string& nspace) const;
  size_t num_jobs() const {
    return jobs_.size() + early_.size() + askers_.size() + again_.size();
  }

 private:
  struct Turn {
    TimeNs now;
    Actions& out;
  };

  bool Hold(const PeerMessage& message);

  // Agents that see the tree differently (job_engine_tree.cc).
  void AskWhetherOver(Turn& turn, NodeId src, const std::string& nspace);
  void KeepForLater(Turn& turn, NodeId src, const std::string& nspace,
                    const JobPrepare& m);
  void TryAgain(Turn& turn);
  // What is not known here is known nowhere: this agent is the root, for sure.
  bool SpeaksForAll() const;

  JobState* Find(const std::string& nspace);
  JobState* FindControlled(const std::string& nspace);
  void Send(Turn& turn, NodeId to, MessageBody body);
  void Log(Turn& turn, LogLine::Level level, std::string text);

  // Launch phases, at every agent (job_engine_launch.cc).
  JobState& Add(Turn& turn, const std::shared_ptr<const JobSpec>& spec,
                const JobPrepare& m);
  static JobPrepare PrepareFor(const JobState& job);
  void AskToPrepare(Turn& turn, JobState& job);
  void Answer(JobState& job, LaunchPhase& phase, NodeId from,
              PhaseAnswer answer);
  void BeginStart(Turn& turn, JobState& job);
  void Settle(Turn& turn, JobState& job);
  void SettlePrepare(Turn& turn, JobState& job);
  void SettleStart(Turn& turn, JobState& job);
  void SendExitsUp(Turn& turn, JobState& job);
  void RecordExit(Turn& turn, JobState& job, const ProcExit& exit);
  void RecordNeverStarted(Turn& turn, JobState& job);
  void LoseNode(Turn& turn, JobState& job, NodeId node,
                const std::string& reason);
  void RecordLost(Turn& turn, JobState& job);
  void Signal(Turn& turn, JobState& job, const JobSignal& signal);
  void Kill(Turn& turn, JobState& job, const JobKill& kill, uint32_t grace_ms);
  // Whether this agent takes it from `src` that a job is over: from those on
  // the way to its controller, and from the root, which knows all that is left.
  bool MayEnd(const JobState& job, NodeId src) const;
  // Whether `src` is asked about the job here; else it is kept in mind.
  bool IsChild(JobState& job, NodeId src);
  void Forget(Turn& turn, JobState& job);
  void TellToForget(Turn& turn, const JobState& job);
  void Drop(Turn& turn, JobState& job);
  void MarkNodeEnded(const JobState& job, NodeId node);
  void Reshape(Turn& turn, JobState& job);
  static void AnswerAgain(JobState& job);
  static void NoteFinished(const std::string& nspace,
                           std::deque<std::string>* jobs);
  void EndHere(Turn& turn, JobState& job);
  void TellNewChild(Turn& turn, JobState& job, NodeId child);
  void Orphan(Turn& turn, JobState& job, const std::string& reason);

  // One agent after another (job_engine_restart.cc).
  static std::optional<HeadRecord> RecordOf(TimeNs now, const JobRecovered& in);
  void DropRecovered(Turn& turn, const JobRecovered& in);
  // Notes that it has told of all its jobs, or never will.
  bool LastTold(NodeId node);
  void KeepController(Turn& turn, const JobState& job);
  void KeepHead(Turn& turn, JobState& job);
  void ReviveHead(Turn& turn, JobState& job, const HeadRecord& record);
  void ReviveLocal(Turn& turn, JobState& job, const JobRecovered& in);
  void AskForInput(Turn& turn, const JobState& job);

  void On(Turn& turn, NodeId src, const JobPrepare& m);
  void On(Turn& turn, NodeId src, const JobPrepared& m);
  void On(Turn& turn, NodeId src, const JobStart& m);
  void On(Turn& turn, NodeId src, const JobStarted& m);
  void On(Turn& turn, NodeId src, const JobExits& m);
  void On(Turn& turn, NodeId src, const JobSignal& m);
  void On(Turn& turn, NodeId src, const JobKill& m);
  void On(Turn& turn, NodeId src, const JobForget& m);
  void On(Turn& turn, NodeId src, const OutputData& m);
  void On(Turn& turn, NodeId src, const OutputCredit& m);
  void On(Turn& turn, NodeId src, const InputData& m);
  void On(Turn& turn, NodeId src, const InputCredit& m);
  void On(Turn& turn, NodeId src, const AbortMessage& m);

  // What the controller decides (job_engine_control.cc).
  Status MayLaunch(const JobSpec& spec) const;
  void End(Turn& turn, JobState& job, JobFailure failure);
  void Finish(Turn& turn, JobState& job);
  void SettleHead(Turn& turn, JobState& job);
  void Report(Turn& turn, JobState& job, JobPhase phase);
  void FailLaunch(Turn& turn, JobState& job, const PhaseAnswer& answer);
  void LoseRanks(Turn& turn, JobState& job, NodeId node,
                 const std::string& reason);
  void AbortJob(Turn& turn, JobState& job, const AbortMessage& abort,
                const std::vector<Rank>& ranks);
  void OnTimeLimit(Turn& turn, JobState& job);
  void TimeOut(Turn& turn, JobState& job, const std::string& reason);

  // Output and input at the controller (job_engine_streams.cc).
  bool AllDelivered(Turn& turn, JobState& job);
  void DeliverStream(Turn& turn, JobState& job, const OutputData& output);
  void CreditAgain(Turn& turn, const JobState& job, uint32_t node);
  void OnDrainTimeout(Turn& turn, JobState& job);
  void SendInput(Turn& turn, JobState& job, const InputLog::Piece& piece);
  void TakeInput(Turn& turn, JobState& job, uint32_t node, uint64_t bytes,
                 uint64_t total);
  void SendInputAgain(Turn& turn, JobState& job, uint32_t node, uint64_t from);

  // What a job waits for (job_engine_why.cc).
  std::vector<Rank> AwaitedOf(const JobState& job,
                              std::string* operation) const;
  std::vector<Rank> AwaitedIn(const JobState& job,
                              const LaunchPhase& phase) const;

  const NodeId self_;
  const std::vector<std::string> node_names_;
  const Tree& tree_;
  JobTable& table_;
  bool remembers_ = false;
  // Ordered, so that what happens does not depend on a hash.
  std::map<std::string, std::unique_ptr<JobState>> jobs_;
  // Agents below that report of jobs that are not known here (yet).
  std::map<std::string, std::set<NodeId>> askers_;
  // Agents that were not heard of since this one was cut off from everybody:
  // they may have been alive all the time.
  std::set<NodeId> unheard_;
  // When those that are in there then count as lost after all.
  TimeNs hearing_until_ = kNever;
  // Agents that have not told this one, which is new, of all their jobs: some
  // may go on that it is only to pass messages of.
  std::set<NodeId> untold_;
  // When those that are in there then are taken to have told of all.
  TimeNs untold_until_ = kNever;
  // Jobs whose processes here are gone, and jobs that are over everywhere.
  std::deque<std::string> finished_;
  std::deque<std::string> over_;
  // Parts in jobs from an agent that is not above this one, as this one sees
  // the tree: first the JobPrepare, then what followed it.
  std::map<std::string, HeldMessages> early_;
  std::vector<PeerMessage> again_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_ENGINE_H_
