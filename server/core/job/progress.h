// Progress of one job at the agent that controls it: which ranks have ended,
// and the failure that gives the job's exit code. The class only records these
// facts; it sends no message. Used by one thread.
#ifndef CANOPY_SERVER_CORE_JOB_PROGRESS_H_
#define CANOPY_SERVER_CORE_JOB_PROGRESS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/job.h"
#include "server/core/messages.h"
#include "server/core/step/control_actions.h"

namespace canopy::core {

// The reason why a job failed.
struct JobFailure {
  int exit_code = 0;
  int status = 0;
  Rank rank = kRankInvalid;  // the rank that failed; kRankInvalid: none
  std::string text;
};

// Exit codes of a job if no rank's exit status determines them.
inline constexpr int kExitLaunchFailed = 1;
inline constexpr int kExitLostWithoutFinalize = 1;
inline constexpr int kExitNodeLost = 1;
inline constexpr int kExitTimedOut = 110;  // ETIMEDOUT
inline constexpr int kExitKilled = 143;    // 128 + SIGTERM

class JobProgress {
 public:
  explicit JobProgress(std::shared_ptr<const JobSpec> job);

  // Records a failure. Only the first failure counts, because later failures
  // follow from it. Returns true if this is the first.
  bool Fail(JobFailure failure);
  // Records a failure that a recoverable job survives.
  void Tolerate(JobFailure failure);
  // Returns the first failure. If all ranks have ended and none of them has
  // ended well, this may be the first tolerated failure.
  const std::optional<JobFailure>& failure() const {
    const bool none_well = all_ended() && num_well_ == 0;
    return failure_ || !none_well ? failure_ : tolerated_;
  }

  // Records that a rank ended. Returns the failure if the end is abnormal and
  // was neither expected nor reported before; otherwise no value.
  std::optional<JobFailure> OnExit(const ProcExit& exit);
  // Records that the rank's end was requested, so that the end is not a
  // failure.
  void ExpectEnd(Rank rank) { expected_[rank] = true; }
  std::vector<Rank> Expected() const;
  // Records that the rank is unreachable; it counts as ended.
  void OnLost(Rank rank);
  bool ended(Rank rank) const { return ended_[rank]; }
  uint32_t num_ended() const { return num_ended_; }
  bool all_ended() const { return num_ended_ == ended_.size(); }
  // Returns the ranks that have not ended, ascending.
  std::vector<Rank> Remaining() const;
  // Returns the resources used by the ranks that have ended, as far as known.
  const JobUsage& used() const { return used_; }
  // Returns the job-relative nodes that take standard input; ended ranks take
  // none.
  std::vector<uint32_t> InputNodes() const;

 private:
  void MarkEnded(Rank rank);
  void AddUsage(const ProcExit& exit);

  std::shared_ptr<const JobSpec> job_;
  std::optional<JobFailure> failure_;
  std::optional<JobFailure> tolerated_;
  std::vector<bool> ended_;
  std::vector<bool> expected_;
  std::vector<uint32_t> left_on_node_;  // number of ranks that have not ended
  uint32_t num_ended_ = 0;
  uint32_t num_well_ = 0;  // ranks that ended well
  JobUsage used_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_PROGRESS_H_
