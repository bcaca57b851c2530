// What is told of the life of jobs beside the progress that a launcher is
// shown: events for spawners and for connected jobs, and lines for the
// launcher.
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

// A spawner gets what its call asks for (spawn::Report). The job of a spawner
// gets the failures of processes of a job that is connected with it, asked for
// or not. A successor may tell again what its predecessor has told. Loop thread
// only.
class JobNotices {
 public:
  // One line, about the job, for the launcher of its family.
  using Print =
      std::function<void(const std::string& nspace, const std::string& line)>;

  explicit JobNotices(Print print) : print_(std::move(print)) {}

  void set_sink(InputSink* sink) { sink_ = sink; }

  // `record` is that of the job, and connected if its spawner has been told of
  // it.
  void OnJobChanged(const core::JobChanged& change, JobRecord* record) const;

 private:
  void OnStarted(const JobRecord& record) const;
  void OnProcEnded(const JobRecord& record, const core::ProcExit& exit) const;
  void TellParent(JobRecord* record) const;
  void OnEnded(const JobRecord& record, const core::JobChanged& change) const;
  void Tell(int event, const ProcId& source, const ProcId& target,
            Bytes info) const;

  const Print print_;
  InputSink* sink_ = nullptr;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_JOB_NOTICES_H_
