// The job head: the decisions of the agent that controls a job.
//
// The head observes the job through the controller's own part (part.h) and acts
// through it. It makes three decisions:
// - The start (BeginStart): when the part has all answers to the preparation,
//   without an error.
// - The end (End): at the first failure, at a kill request, at an abort of all
//   ranks, or when the time limit expires. The decision is persisted before the
//   part kills the ranks, because a successor must not mistake the ends that
//   the kill causes for failures.
// - The end of the job as a whole (Finish): when all ranks have ended and their
//   output was delivered, or their streams have been silent for some time.
//
// An event changes only the members of the head. Advance, which follows each
// event, derives the next step from these members and from the part's answers,
// and reports the phase to the launcher if it has changed. JobProgress counts
// the ended ranks and holds the failure that gives the exit code; JobStreams
// handles output and input with their credit; HeadPersistence stores what a
// successor needs.
#ifndef CANOPY_SERVER_CORE_JOB_HEAD_H_
#define CANOPY_SERVER_CORE_JOB_HEAD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "server/core/job/part.h"
#include "server/core/job/progress.h"
#include "server/core/job/records.h"
#include "server/core/job/step.h"
#include "server/core/job/streams.h"
#include "server/core/messages.h"
#include "server/core/step/clock.h"
#include "server/core/step/control_actions.h"
#include "server/core/step/control_inputs.h"
#include "server/core/why.h"

namespace canopy::core {

// The policy: the first abnormal end of a rank (nonzero exit code, signal, or
// no finalize after init) ends the job, and that rank gives the exit code. A
// recoverable job continues, and fails only if no rank ends well.
//
// The head acts through the controller's own JobPart and reports to the
// launcher with JobChanged. Its states are those of JobPhase;
// docs/design/job_states.md has the transitions. Invariants: `ending_` stays
// set after it was set; the state that an effect depends on is persisted before
// that effect.
//
// Functions that return bool return true when the job is over: its end has been
// reported, and the caller must release the part. Not synchronised.
class JobHead {
 public:
  // `part` (the controller's) and `node_names` (by NodeId) outlive the head.
  JobHead(JobPart& part, const std::vector<std::string>& node_names,
          bool persists);
  JobHead(const JobHead&) = delete;
  JobHead& operator=(const JobHead&) = delete;

  // Must be called before the part's Prepare.
  void Launch(const JobStep& step, const LaunchRequested& in);
  // Restores the state of a predecessor. The launcher has yet to reattach.
  void Recover(const JobStep& step, const HeadRecord& record);

  // Advances the job as far as the answers and ends known to the part allow.
  [[nodiscard]] bool Advance(const JobStep& step);

  // Records that the part has received an answer of a launch phase.
  void OnAnswer() { changed_ = true; }
  // Records the end of a rank. Called only if the part did not know the end.
  void OnExit(const JobStep& step, const ProcExit& exit);
  // `reason` is text for the log and may be empty.
  void OnNodeLost(const JobStep& step, NodeId node, const std::string& reason);
  [[nodiscard]] bool OnLauncherReattached(const JobStep& step,
                                          const LauncherReattached& in);
  void OnSignalRequested(const JobStep& step, const SignalRequested& in) const;
  // A second request sends SIGKILL at once.
  [[nodiscard]] bool OnKillRequested(const JobStep& step,
                                     const KillRequested& in);
  // Does nothing if the job is being ended or its time limit has expired.
  void OnTimeLimitSet(const JobStep& step, const TimeLimitSet& in);
  // Time limits stand still while debuggers hold the job's processes
  // (DebugHolds). Moves the limits by the time held so far, and persists them.
  void OnHoldEnded(const JobStep& step);
  // `ranks` are ranks of the job; empty means all.
  [[nodiscard]] bool Abort(const JobStep& step, const AbortMessage& abort,
                           const std::vector<Rank>& ranks);
  // Ends `ranks` for `reason` (one line). The job's exit code is kExitKilled
  // unless another failure came first. With `immediately`, the ranks get
  // SIGKILL without a grace period.
  [[nodiscard]] bool EndRanks(const JobStep& step, const std::string& reason,
                              const std::vector<Rank>& ranks, bool immediately);
  // Handles the time limit and silent streams.
  [[nodiscard]] bool OnTick(const JobStep& step);
  TimeNs NextDeadline() const;
  // Returns when the time limit ends the job; kNever if it has none.
  TimeNs ends_at() const { return timeout_; }

  // Handle the output and input of the job; see JobStreams.
  [[nodiscard]] bool OnOutput(const JobStep& step, const OutputData& output);
  [[nodiscard]] bool OnOutputConsumed(const JobStep& step,
                                      const OutputConsumed& in);
  [[nodiscard]] bool OnInputOffered(const JobStep& step,
                                    const InputOffered& in);
  JobStreams& streams() { return streams_; }

  // Returns a PMIx status: that of the failure if the job has failed,
  // kLaunching during the launch, otherwise kSuccess.
  int status() const;
  // Describes the operation for which the job waits. Returns false if it waits
  // only for its processes to end.
  bool Describe(TimeNs now, Waiting* waiting) const;

 private:
  void BeginStart(const JobStep& step);
  void FailLaunch(const JobStep& step, const PhaseAnswer& answer);
  void EndTargets(const JobStep& step, JobFailure failure,
                  const std::vector<Rank>& ranks);
  void End(const JobStep& step, JobFailure failure);
  void OnRankFailed(const JobStep& step, JobFailure failure);
  bool Finish(const JobStep& step);
  void Warn(const JobStep& step);
  bool OnTimeLimit(const JobStep& step);
  void PutOff(const JobStep& step);
  void TimeOut(const JobStep& step, const std::string& reason);
  JobPhase Phase() const;
  void Report(const JobStep& step, JobPhase phase);
  void Persist(const JobStep& step, bool started);
  void Persist(const JobStep& step);
  std::vector<Rank> Awaited(std::string* operation) const;

  JobPart& part_;
  const std::vector<std::string>& node_names_;
  JobProgress progress_;
  JobStreams streams_;
  HeadPersistence persistence_;
  uint16_t port_ = 0;           // the port that JobPrepared reported
  bool ending_ = false;         // the remaining processes are being ended
  uint32_t kill_requests_ = 0;  // kill requests by the user
  bool changed_ = true;         // a report is due
  JobPhase phase_ = JobPhase::kPreparing;  // the phase last reported
  TimeNs since_ = 0;                       // when `phase_` began
  TimeNs timeout_ = kNever;  // when the time limit of the whole job expires
  // True if the time limit has expired. Until the job is ended, `timeout_` is
  // then the time up to which the job waits for the launcher's report.
  bool out_of_time_ = false;
  uint32_t limits_ = 0;      // number of time limits set after the launch
  TimeNs warn_at_ = kNever;  // when to warn of the last of these limits
  // The time up to which holds are included in `timeout_` and `warn_at_`. It is
  // 0 after a recovery: a successor knows only the holds that were in effect
  // when its predecessor ended, and none of these is included yet.
  TimeNs counted_from_ = 0;
  std::optional<TimeWarning> warning_;  // a warning that is yet to be reported
  bool check_only_ = false;  // the programs are checked; no process is started
  std::vector<ProgramNote> notes_;  // notes that are yet to be reported
  std::vector<ProcExit> ends_;      // ends that are yet to be reported
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_HEAD_H_
