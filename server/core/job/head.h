// The job head: what the agent that controls a job decides.
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

// Policy: the first abnormal end (exit code, signal, or no finalize after init)
// ends the job; its exit code is that rank's. A recoverable job goes on, and
// has only failed when no rank has ended well. The head acts through the
// controller's own part, and reports to the launcher (JobChanged). Its states
// are those of JobPhase: docs/design/job_states.md.
//
// Functions that return bool return true when the job is over: its end is
// reported, and the part is to be released. Not synchronised.
class JobHead {
 public:
  // `part`, the controller's, and `node_names`, by NodeId, outlive it.
  JobHead(JobPart& part, const std::vector<std::string>& node_names,
          bool persists);
  JobHead(const JobHead&) = delete;
  JobHead& operator=(const JobHead&) = delete;

  // Before the part's Prepare.
  void Launch(const JobStep& step, const LaunchRequested& in);
  // Restores a predecessor's state. The launcher has yet to reattach.
  void Recover(const JobStep& step, const HeadRecord& record);

  // Takes the job as far as the answers and ends known to the part allow.
  [[nodiscard]] bool Advance(const JobStep& step);

  // An answer of a launch phase has come to the part.
  void OnAnswer() { changed_ = true; }
  // An end that is news to the part.
  void OnExit(const JobStep& step, const ProcExit& exit);
  // `reason` is for people, or empty.
  void OnNodeLost(const JobStep& step, NodeId node, const std::string& reason);
  [[nodiscard]] bool OnLauncherReattached(const JobStep& step,
                                          const LauncherReattached& in);
  void OnSignalRequested(const JobStep& step, const SignalRequested& in) const;
  // A second request means SIGKILL at once.
  [[nodiscard]] bool OnKillRequested(const JobStep& step,
                                     const KillRequested& in);
  // Without effect on a job that is being ended, or whose time is over.
  void OnTimeLimitSet(const JobStep& step, const TimeLimitSet& in);
  // Its time stands still while debuggers hold its processes (DebugHolds):
  // takes into account what has been held so far, and persists it.
  void OnHoldEnded(const JobStep& step);
  // `ranks` are the job's; empty: all.
  [[nodiscard]] bool Abort(const JobStep& step, const AbortMessage& abort,
                           const std::vector<Rank>& ranks);
  // The same, for another reason (one line) and without an exit code of
  // theirs. `immediately`: SIGKILL, without time to end.
  [[nodiscard]] bool EndRanks(const JobStep& step, const std::string& reason,
                              const std::vector<Rank>& ranks, bool immediately);
  // Time limit and silent streams.
  [[nodiscard]] bool OnTick(const JobStep& step);
  TimeNs NextDeadline() const;
  // When its time limit ends it; kNever: it has none.
  TimeNs ends_at() const { return timeout_; }

  [[nodiscard]] bool OnOutput(const JobStep& step, const OutputData& output);
  [[nodiscard]] bool OnOutputConsumed(const JobStep& step,
                                      const OutputConsumed& in);
  [[nodiscard]] bool OnInputOffered(const JobStep& step,
                                    const InputOffered& in);
  JobStreams& streams() { return streams_; }

  // A PMIx status: why it has failed; kLaunching while it is launched; else
  // kSuccess.
  int status() const;
  // What the job waits for; false: for nothing but its processes.
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
  uint16_t port_ = 0;                      // as in JobPrepared
  bool ending_ = false;                    // the rest is being ended
  uint32_t kill_requests_ = 0;             // by the user
  bool changed_ = true;                    // a report is due
  JobPhase phase_ = JobPhase::kPreparing;  // as last reported
  TimeNs since_ = 0;                       // when that phase began
  TimeNs timeout_ = kNever;                // of the job as a whole
  // The time limit has expired; `timeout_` is when to end the job.
  bool out_of_time_ = false;
  uint32_t limits_ = 0;      // that were set after the launch
  TimeNs warn_at_ = kNever;  // of the last of them
  // What was held before is part of these times. After a recovery: all that was
  // held when the predecessor ended, but no hold that had ended.
  TimeNs counted_from_ = 0;
  std::optional<TimeWarning> warning_;  // not reported yet
  bool check_only_ = false;             // nothing is started
  std::vector<ProgramNote> notes_;      // not reported yet
  std::vector<ProcExit> ends_;          // the same
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_HEAD_H_
