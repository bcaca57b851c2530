// State of one job at one agent that takes part in it or forwards its messages.
#ifndef CANOPY_SERVER_CORE_JOB_STATE_H_
#define CANOPY_SERVER_CORE_JOB_STATE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/job.h"
#include "server/core/input_log.h"
#include "server/core/job_progress.h"
#include "server/core/messages.h"
#include "server/core/step/clock.h"
#include "server/core/step/control_actions.h"
#include "server/core/tree.h"

namespace canopy::core {

// Errors that one answer carries at most; more are dropped, because the user
// reads the first.
inline constexpr size_t kMaxNodeErrors = 64;
// Different notes on the programs that one answer carries at most.
inline constexpr size_t kMaxProgramNotes = 16;

// One answer of a launch phase: a subtree's, or this agent's own.
struct PhaseAnswer {
  uint32_t count = 0;  // nodes ready, or processes started
  std::vector<NodeError> errors;
  std::vector<ProgramNote> notes = {};
};

// One phase of a launch at one agent: which agents were asked and have
// answered, by identity. The agent's own answer is filed under its own NodeId.
class LaunchPhase {
 public:
  void Answer(NodeId from, PhaseAnswer answer) {
    answers_[from] = std::move(answer);
  }
  bool Answered(NodeId from) const { return answers_.contains(from); }
  // Drops the answer of a node that does not take part any more.
  void Drop(NodeId from) { answers_.erase(from); }
  bool Complete(const std::vector<NodeId>& asked) const;
  // The answers so far of those who are asked as one.
  PhaseAnswer Sum(const std::vector<NodeId>& asked) const;

  bool sent_up = false;

 private:
  std::map<NodeId, PhaseAnswer> answers_;
};

enum class LaunchStage : uint8_t { kPreparing, kStarting, kRunning };

// Only at the agent that controls the job.
struct JobHead {
  JobHead(std::shared_ptr<const JobSpec> job,
          std::shared_ptr<const JobLayout> layout)
      : progress(std::move(job), std::move(layout)) {}

  JobProgress progress;
  bool ending = false;                    // the rest is being ended
  uint32_t kill_requests = 0;             // by the user
  bool changed = true;                    // a report is due
  JobPhase phase = JobPhase::kPreparing;  // as last reported
  TimeNs since = 0;                       // when that phase began
  TimeNs timeout = kNever;                // of the job as a whole
  bool out_of_time = false;  // it has expired; `timeout` is when to end the job
  TimeNs drain = kNever;     // when a silent stream counts as stuck
  bool acknowledges = false;  // its launcher acknowledges output
  bool asked = false;         // for an acknowledgement
  bool detached = false;      // its launcher is not attached (yet)
  bool discards = false;      // and will not reattach
  std::string persisted;      // by PersistControlState
  InputLog input;
  bool check_only = false;         // nothing is started
  std::vector<ProgramNote> notes;  // not reported yet
};

// Deferred messages and their senders.
using DeferredMessages = std::vector<std::pair<NodeId, MessageBody>>;

struct JobState {
  std::shared_ptr<const JobSpec> spec;
  std::shared_ptr<const JobLayout> layout;
  Bytes encoded;                  // the spec, for agents that join later
  uint32_t local_node = kNoNode;  // job-relative; kNoNode: no rank here
  NodeId parent = kNoNode;        // kNoNode: this agent controls the job
  NodeId controller = kNoNode;
  std::vector<NodeId> route;     // from the parent to the controller
  std::vector<NodeId> children;  // next hops towards the other nodes
  // Agents lost with their ranks: a new incarnation takes no part.
  std::set<NodeId> lost;
  // Provisional children: agents that report here before this one knows that
  // their own parent is lost.
  std::set<NodeId> provisional_children;
  bool explain = false;  // what is found out about the programs, at length
  LaunchStage stage = LaunchStage::kPreparing;
  LaunchPhase prepare;
  LaunchPhase start;
  std::vector<bool> exit_known;  // by rank, of this subtree
  std::vector<ProcExit> exits;   // of this subtree, in order of arrival
  size_t exits_sent = 0;         // how many of them were sent up
  uint32_t local_left = 0;       // local ranks that have not ended
  // Input that they have taken; none: not known.
  std::optional<uint64_t> input_taken = 0;
  std::optional<JobKill> kill;  // for the whole job
  bool dropping = false;        // release as soon as nothing runs here
  // Messages deferred for the part that this agent takes after that.
  DeferredMessages deferred;
  std::unique_ptr<JobHead> head;

  const std::string& nspace() const { return spec->nspace; }
  bool has_local() const { return local_node != kNoNode; }
  // Standard input of the job goes to ranks here.
  bool takes_input() const;
  // Some process of the job may be alive here.
  bool runs_here() const {
    return has_local() && stage != LaunchStage::kPreparing && local_left > 0;
  }
  // Children, and this agent itself where it has ranks.
  std::vector<NodeId> Asked(NodeId self) const;
};

// The tree of a job is the overlay's, seen from the agent that controls the job
// (the root when it was launched, which need not be the root any more).
// Next hop from `self` towards the controller; kNoNode there.
NodeId JobParent(const Tree& tree, NodeId self, NodeId controller);
// Whether the route from one agent to another passes `via`.
bool LeadsOver(const Tree& tree, NodeId from, NodeId to, NodeId via);
// All hops from `self` to the controller, itself included.
std::vector<NodeId> JobRoute(const Tree& tree, NodeId self, NodeId controller);
// Next hops towards the job's other living nodes, ascending, without the one
// that leads to the controller.
std::vector<NodeId> JobChildren(const Tree& tree, NodeId self,
                                const JobState& job);

// The ranks that run on a node, out of `ranks`; empty `ranks` means all.
std::vector<Rank> RanksOnNode(const JobState& job, uint32_t node,
                              const std::vector<Rank>& ranks);

// Those of the job's children through which some of `ranks` (empty: all) are
// reached.
std::vector<NodeId> ChildrenTowards(const Tree& tree, NodeId self,
                                    const JobState& job,
                                    const std::vector<Rank>& ranks);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_STATE_H_
