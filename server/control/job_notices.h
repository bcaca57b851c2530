// Sends notices about the life of jobs, in addition to the progress that a
// launcher shows: events for spawners, for connected jobs and for processes
// that have registered for their codes, and lines for the launcher.
#ifndef CANOPY_SERVER_CONTROL_JOB_NOTICES_H_
#define CANOPY_SERVER_CONTROL_JOB_NOTICES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/control/job_record.h"
#include "server/core/step/control_actions.h"
#include "server/ports/input_sink.h"

namespace canopy::control {

// A spawner receives the events that its call requested (JobReports). The job
// of a spawner also receives the failures of processes of a connected job, even
// if it has not requested them. All other processes of the session receive the
// events for whose codes they have registered (docs/design/events.md). A
// successor repeats events that its predecessor may have sent, with the same
// identities. Loop thread only.
class JobNotices {
 public:
  // Prints one line about the job at the launcher of its family.
  using Print =
      std::function<void(const std::string& nspace, const std::string& line)>;

  explicit JobNotices(Print print) : print_(std::move(print)) {}

  void set_sink(InputSink* sink) { sink_ = sink; }

  // Sends the notices of a change. `record` is the record of the changed job.
  void OnJobChanged(const core::JobChanged& change, JobRecord* record) const;
  // Sends the notices of a job's end again, for a job that had run and was over
  // when its record was recovered.
  void OnRecoveredEnd(const JobSpec& job, const LaunchFacts& facts,
                      const core::JobChanged& end) const;

 private:
  void OnWarning(const JobSpec& job, const core::TimeWarning& warning) const;
  void OnFirst(const JobRecord& record) const;
  void OnStarted(const JobRecord& record) const;
  void OnProcEnded(const JobRecord& record, const core::ProcExit& exit) const;
  void TellParent(JobRecord* record) const;
  void OnEnded(const JobRecord& record, const core::JobChanged& change) const;
  void TellEnd(const JobSpec& job, const LaunchFacts& facts,
               const core::JobChanged& end) const;
  void TellOfJob(const JobSpec& job, int event, bool asked) const;
  void TellAll(const JobSpec& job, int event, bool asked, Bytes info) const;
  void Tell(uint64_t id, int event, const ProcId& source, const ProcId& target,
            Bytes info) const;

  const Print print_;
  InputSink* sink_ = nullptr;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_JOB_NOTICES_H_
