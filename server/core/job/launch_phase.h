// One phase of a launch at one agent: which agents have answered, and the sum
// of the answers.
#ifndef CANOPY_SERVER_CORE_JOB_LAUNCH_PHASE_H_
#define CANOPY_SERVER_CORE_JOB_LAUNCH_PHASE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "server/core/messages.h"

namespace canopy::core {

// Maximum number of errors in one answer. More are dropped, because a user
// reads only the first ones.
inline constexpr size_t kMaxNodeErrors = 64;
// Maximum number of different program notes in one answer.
inline constexpr size_t kMaxProgramNotes = 16;

// One answer to a launch phase: that of a subtree, or this agent's own.
struct PhaseAnswer {
  uint32_t count = 0;  // nodes ready, or processes started
  std::vector<NodeError> errors;
  std::vector<ProgramNote> notes = {};
  uint16_t port = 0;  // as in JobPrepared
};

// Answers are stored by agent, because the tree may change before all have
// arrived: the answer of an agent that is no longer a child is contained in the
// answer of another agent. This agent's own answer is stored under its own
// NodeId. Used by one thread.
class LaunchPhase {
 public:
  void Answer(NodeId from, PhaseAnswer answer) {
    answers_[from] = std::move(answer);
  }
  bool Answered(NodeId from) const { return answers_.contains(from); }
  // Drops the answer of a node that no longer takes part.
  void Drop(NodeId from) { answers_.erase(from); }
  // Returns true if all agents in `asked` have answered.
  bool Complete(const std::vector<NodeId>& asked) const;
  // Returns the sum of the answers that the agents in `asked` have given so
  // far.
  PhaseAnswer Sum(const std::vector<NodeId>& asked) const;

  // True if the parent has the answer; cleared when the parent may have lost
  // it.
  bool sent_up = false;

 private:
  std::map<NodeId, PhaseAnswer> answers_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_LAUNCH_PHASE_H_
