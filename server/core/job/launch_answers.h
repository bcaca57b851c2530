// The answers to both phases of a launch at one agent: its own, and those of
// the agents below it.
#ifndef CANOPY_SERVER_CORE_JOB_LAUNCH_ANSWERS_H_
#define CANOPY_SERVER_CORE_JOB_LAUNCH_ANSWERS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "server/core/job/launch_phase.h"
#include "server/core/job/local_ranks.h"
#include "server/core/job/place.h"
#include "server/core/job/step.h"

namespace canopy::core {

// Answers are expected from the current children of `place`, and from this
// agent if it has ranks. Not synchronised.
class LaunchAnswers {
 public:
  // Both references outlive this object.
  LaunchAnswers(const JobPlace& place, const LocalRanks& local)
      : place_(place), local_(local) {}

  void AnswerPrepare(NodeId from, PhaseAnswer answer) {
    prepare_.Answer(from, std::move(answer));
  }
  void AnswerStart(NodeId from, PhaseAnswer answer) {
    start_.Answer(from, std::move(answer));
  }
  // Drops the answers of a node that takes no part in the job any more.
  void Drop(NodeId node);

  // Returns true if all agents have answered the first phase.
  bool AllPrepared() const { return prepare_.Complete(Asked()); }
  // Returns whether all agents have answered or one has reported an error. An
  // error ends the job, and must be reported before the exits that it causes.
  bool StartIsAnswered() const;
  // Return the sum of the answers so far to the first phase (Prepared) and to
  // the second phase (Started).
  PhaseAnswer Prepared() const { return prepare_.Sum(Asked()); }
  PhaseAnswer Started() const { return start_.Sum(Asked()); }
  // Returns the job-relative nodes with ranks whose answer is missing: the
  // answer to the second phase if `started`, otherwise that to the first.
  std::vector<uint32_t> Unanswered(bool started) const;

  // Sends the parent the answers that it does not have. `started` has the same
  // meaning as for Unanswered.
  void ReportUp(const JobStep& step, bool started);
  // Called when the parent may have lost the answers: the next ReportUp sends
  // them again.
  void Resend() { prepare_.sent_up = start_.sent_up = false; }

 private:
  std::vector<NodeId> Asked() const;

  const JobPlace& place_;
  const LocalRanks& local_;
  LaunchPhase prepare_;
  LaunchPhase start_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_LAUNCH_ANSWERS_H_
