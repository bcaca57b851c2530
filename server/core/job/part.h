// One agent's part in a job: its launch in two phases, the ends of its ranks,
// and the messages that it passes on between its parent and its children. What
// has been answered to a phase is LaunchAnswers', output and input are
// PartStreams'.
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

// docs/design/job_states.md has the table of transitions.
enum class JobPartState : uint8_t {
  kPreparing,
  kStarting,
  kRunning,
  kReleasing,  // the job is over; waits for the ends of what runs here
};

// Every agent with a rank of the job, and every one between these and the
// controller, has a part. It does the same everywhere; what the controller
// decides is JobHead's. Not synchronised; the step's tree is the one of
// `place`.
class JobPart {
 public:
  // `entry`, of the table, outlives the part. With `persists`, a successor is
  // left the records that it needs. A part whose own agent is among the lost
  // ones only passes messages on.
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
  // Job-relative index of this node; kNoNode: no rank here.
  uint32_t local_node() const { return local_.node(); }
  bool has_local() const { return local_.any(); }
  // Some process of the job may be alive here.
  bool RunsHere() const;
  // Neither a rank nor a child: the part has no purpose any more.
  bool IsIdle() const { return !has_local() && place_.children().empty(); }

  // ---------------------------------------------------------- the launch ---

  // The part is in the table: registers the local ranks, and records the nodes
  // that are lost already.
  void Begin(const JobStep& step);
  // First phase: asks the children and the local process adapter.
  void Prepare(const JobStep& step);
  // The parent has sent JobPrepare again: it may be another one, and have none
  // of the answers.
  void OnPreparedAgain(const JobStep& step, NodeId controller);
  void OnLocalPrepared(const JobStep& step, const LocalPrepared& in);
  void OnLocalStarted(const JobStep& step, const LocalStarted& in);
  // Second phase, with the port of rank 0's node (JobStart). No effect after
  // the first call.
  void Start(const JobStep& step, uint16_t port);
  // The state follows the answers: running when all have started, or some
  // cannot.
  void Advance();
  // Sends the parent the answers and ends that it does not have.
  void ReportUp(const JobStep& step);

  // ------------------------------------------------------------ its ends ---

  // False: the end is known already.
  bool AddEnd(const RankEnd& end);
  // A local rank whose process has failed may have another one: nobody wants it
  // to end.
  bool MayRestart(Rank rank) const;
  // The local rank was told to end, alone or with the job.
  bool ToldToEnd(Rank rank) const { return kill_ || killed_.contains(rank); }
  // How many processes the rank had before the present one.
  uint32_t IncarnationOf(Rank rank) const;
  // The rank of that exit gets another process.
  void Restart(const JobStep& step, ProcExit exit);
  // The same of a rank of the node that tells it.
  void OnRankRestarted(const JobStep& step, NodeId src, const RankRestarted& m);
  void Signal(const JobStep& step, const JobSignal& signal) const;
  void Kill(const JobStep& step, const JobKill& kill);
  // Sends the job's end to all below.
  void SendForget(const JobStep& step) const;
  // The job is over. True: nothing runs here. Otherwise it is killed, and the
  // part waits for its end.
  bool Release(const JobStep& step);
  // Releases what the adapters have of it; the part is destroyed next.
  void Drop(const JobStep& step) const;

  // ----------------------------------------------------- changes of tree ---

  // The node takes no part in the job any more, whichever agent detected its
  // loss.
  void OnNodeLost(const JobStep& step, NodeId node);
  // Its ranks count as ended for the other engines.
  void MarkNodeEnded(NodeId node);
  void OnTreeChanged(const JobStep& step);
  // Messages in flight to or through the node's agent are lost.
  void OnNodeRestarted(const JobStep& step, NodeId node);

  // ------------------------------------------------------------ recovery ---

  // The controller's state: the start, with that port, and the kill may have
  // been sent.
  void Recover(bool started, uint16_t port, std::optional<JobKill> kill);
  // What the job's shim has.
  void RecoverLocal(const JobStep& step, const JobRecovered& in);
  // Gives each child the job's state.
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
  const bool explain_;   // what is found out about the programs, at length
  const bool persists_;
  JobPlace place_;
  const LocalRanks local_;
  JobPartState state_ = JobPartState::kPreparing;
  LaunchAnswers answers_;
  PartStreams streams_;
  uint16_t port_ = 0;            // of the start
  RankEnds ends_;                // of this subtree
  uint32_t local_left_ = 0;      // local ranks that have not ended
  std::optional<JobKill> kill_;  // of the whole job
  std::set<Rank> killed_;        // ranks here that were told to end
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_PART_H_
