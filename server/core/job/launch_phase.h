// One phase of a launch at one agent: who has answered, and the sum.
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
  uint16_t port = 0;  // as in JobPrepared
};

// Answers are filed by agent, because the tree may change while they come in:
// that of an agent which is not asked any more is included in another's. The
// agent's own answer is filed under its own NodeId.
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

  // Whether the parent has the answer. Cleared when it may be lost.
  bool sent_up = false;

 private:
  std::map<NodeId, PhaseAnswer> answers_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_LAUNCH_PHASE_H_
