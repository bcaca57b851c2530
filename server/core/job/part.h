// One agent's part in a job: its launch in two phases, the ends of its ranks,
// and the messages that it forwards between its parent and its children.
//
// Two kinds of objects hold the state of a job. Every agent with a rank of the
// job has a JobPart, and so has every agent between such an agent and the
// controller. The controller has a JobHead as well (head.h). The head decides;
// it acts through the controller's own part. A part makes no decisions. It
// executes the decisions of the head (prepare, start, signal, kill, forget) and
// passes them down the tree. It reports upwards: one answer of its whole
// subtree to each phase of the launch, and each end of a rank.
//
// LaunchAnswers collects the answers of the children and of the local process
// adapter, and RankEnds the ends in the subtree; PartStreams handles output and
// input; LocalRanks are the ranks of this node; JobPlace is the parent and the
// children in the job's tree.
//
// Agents may be lost or restarted at any time, which also changes the tree.
// Reports are therefore idempotent, and a new or restarted parent gets all of
// them again (ReportUp). A new or restarted child gets the state of the job
// (SyncChildren). A successor restores its part from its own records and from
// the shim (Recover, RecoverLocal).
#ifndef CANOPY_SERVER_CORE_JOB_PART_H_
#define CANOPY_SERVER_CORE_JOB_PART_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/job.h"
#include "server/core/job/launch_answers.h"
#include "server/core/job/local_ranks.h"
#include "server/core/job/part_streams.h"
#include "server/core/job/place.h"
#include "server/core/job/rank_ends.h"
#include "server/core/job/step.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/persisted_state.h"
#include "server/core/step/process_inputs.h"

namespace canopy::core {

// The table of transitions is in docs/design/job_states.md.
enum class JobPartState : uint8_t {
  kPreparing,
  kStarting,
  kRunning,
  // the job is over; the part waits for the ends of local processes
  kReleasing,
};

// A part goes from kPreparing (the processes are being prepared) through
// kStarting (they may run) to kRunning, when every child and the local process
// adapter have answered, or one has reported an error. kReleasing is entered
// only if the job is over while local processes still run.
//
// Not synchronised. The step's tree is the tree of `place`.
class JobPart {
 public:
  // `entry` belongs to the table and outlives the part. With `persists`, the
  // part persists the records that a successor needs. A part whose own agent is
  // among the lost agents only forwards messages.
  JobPart(JobTable& table, const Job& entry, JobPlace place,
          const JobPrepare& prepare, bool persists);
  JobPart(const JobPart&) = delete;
  JobPart& operator=(const JobPart&) = delete;

  const std::string& nspace() const { return spec_->nspace; }
  const std::shared_ptr<const JobSpec>& spec() const { return spec_; }
  const std::shared_ptr<const JobLayout>& layout() const { return layout_; }
  JobPlace& place() { return place_; }
  const JobPlace& place() const { return place_; }
  JobPartState state() const { return state_; }
  LaunchAnswers& answers() { return answers_; }
  PartStreams& streams() { return streams_; }
  // Returns the job-relative index of this node; kNoNode if it runs no rank.
  uint32_t local_node() const { return local_.node(); }
  bool has_local() const { return local_.any(); }
  // Returns whether a process of the job may be alive on this node.
  bool RunsHere() const;
  // Returns whether the part has neither a rank nor a child, so that it is not
  // needed.
  bool IsIdle() const { return !has_local() && place_.children().empty(); }

  // ---------------------------------------------------------- the launch ---

  // Registers the local ranks, and records the nodes that are lost already.
  // Must be called after the part was added to the table.
  void Begin(const JobStep& step);
  // Begins the first phase of the launch: sends JobPrepare to the children and
  // PrepareLocal to the local process adapter.
  void Prepare(const JobStep& step);
  // Handles a repeated JobPrepare of the parent, which may be a new parent and
  // may have none of the answers.
  void OnPreparedAgain(const JobStep& step, NodeId controller);
  void OnLocalPrepared(const JobStep& step, const LocalPrepared& in);
  void OnLocalStarted(const JobStep& step, const LocalStarted& in);
  // Begins the second phase: starts the ranks. `port` was reserved on the node
  // of rank 0 (JobStart). Only the first call has an effect.
  void Start(const JobStep& step, uint16_t port);
  // Derives the state from the answers: kRunning when every answer to the start
  // has arrived, or one of them is an error.
  void Advance();
  // Sends the parent the answers and ends that it does not have.
  void ReportUp(const JobStep& step);

  // ------------------------------------------------------------ its ends ---

  // Records an end. Returns false if the end is already known.
  bool AddEnd(const RankEnd& end);
  // Returns whether a new process may follow a failed process of the local
  // rank: the start had no error, and neither the rank nor the job was ordered
  // to end.
  bool MayRestart(Rank rank) const;
  // Returns whether the local rank was ordered to end, alone or with the job.
  bool ToldToEnd(Rank rank) const { return kill_ || killed_.contains(rank); }
  // Returns the number of processes that the rank had before the present one.
  uint32_t IncarnationOf(Rank rank) const;
  // Starts a new process of the local rank of `exit`.
  void Restart(const JobStep& step, ProcExit exit);
  // Records the restart of a remote rank, as reported by its node's agent.
  void OnRankRestarted(const JobStep& step, NodeId src, const RankRestarted& m);
  void Signal(const JobStep& step, const JobSignal& signal) const;
  void Kill(const JobStep& step, const JobKill& kill);
  // Sends the job's end to all agents below.
  void SendForget(const JobStep& step) const;
  // Handles the job's end. Returns true if no process runs on this node;
  // otherwise the local processes are killed, and the part waits for their
  // ends.
  bool Release(const JobStep& step);
  // Releases the adapters' resources for the job. The caller destroys the part
  // next.
  void Drop(const JobStep& step) const;

  // ----------------------------------------------------- changes of tree ---

  // Called when the node is lost, whichever agent detected the loss. From then
  // on, the node takes no part in the job.
  void OnNodeLost(const JobStep& step, NodeId node);
  // Marks the node's ranks as ended, for the other engines.
  void MarkNodeEnded(NodeId node);
  void OnTreeChanged(const JobStep& step);
  // Called when the node's agent was restarted: messages in flight to or
  // through it are lost.
  void OnNodeRestarted(const JobStep& step, NodeId node);

  // ------------------------------------------------------------ recovery ---

  // Restores the state of the controller's part. If `started`, the start with
  // `port` may have been sent. If `kill` is set, the kill may have been sent.
  void Recover(bool started, uint16_t port, std::optional<JobKill> kill);
  // Restores the state that the job's shim reports.
  void RecoverLocal(const JobStep& step, const JobRecovered& in);
  // Sends each child the job's state.
  void SyncChildren(const JobStep& step) const;

 private:
  bool preparing() const { return state_ == JobPartState::kPreparing; }
  void EnterStarting();
  void StartLocalRanks(const JobStep& step);
  JobPrepare PrepareMessage() const;
  void SyncChild(const JobStep& step, NodeId child) const;
  void SendRestarts(const JobStep& step, NodeId node) const;
  void MarkKilled(const JobStep& step, const std::vector<Rank>& ranks);
  void KillLocalRanks(const JobStep& step, std::vector<Rank> ranks) const;
  void RecordLost();
  void ResendAnswers();
  void PersistController(const JobStep& step) const;

  JobTable& table_;
  const NodeId self_;
  const std::shared_ptr<const JobSpec> spec_;
  const std::shared_ptr<const JobLayout> layout_;
  const Bytes encoded_;  // the spec, for agents that join later
  const bool explain_;   // the notes on programs are to be detailed
  const bool persists_;
  JobPlace place_;
  const LocalRanks local_;
  JobPartState state_ = JobPartState::kPreparing;
  LaunchAnswers answers_;
  PartStreams streams_;
  uint16_t port_ = 0;            // the port of the start
  RankEnds ends_;                // ends of ranks in this subtree
  uint32_t local_left_ = 0;      // local ranks that have not ended
  std::optional<JobKill> kill_;  // set when the whole job is killed
  std::set<Rank> killed_;        // local ranks that were ordered to end
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_PART_H_
