// What is reported of a job that has run out of time, before it is ended: which
// operations wait, and where it was asked for how its processes are and where
// in their program (PMIX_TIMEOUT_REPORT_STATE, PMIX_TIMEOUT_STACKTRACES).
#ifndef CANOPY_SERVER_CONTROL_TIMEOUT_REPORTS_H_
#define CANOPY_SERVER_CONTROL_TIMEOUT_REPORTS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "common/event_loop.h"
#include "common/job.h"
#include "common/status.h"
#include "server/control/families.h"
#include "server/control/job_record.h"
#include "server/control/job_starter.h"
#include "server/control/state_collector.h"
#include "server/ports/input_sink.h"

namespace canopy::control {

// The latter are told by a job of the same family with a process on each node
// of the job, whose output goes to the launcher: canopy-stacks. It takes no
// slots, and no successor knows it. Loop thread only; what it is given outlives
// it.
class TimeoutReports {
 public:
  // That job may take so long.
  static constexpr int64_t kLimitNs = 20'000'000'000;

  TimeoutReports(EventLoop* loop, Families* families, JobStarter* starter,
                 StateCollector* states, const JobPlanner& planner)
      : loop_(loop),
        families_(families),
        starter_(starter),
        states_(states),
        planner_(planner) {}
  ~TimeoutReports();
  TimeoutReports(const TimeoutReports&) = delete;
  TimeoutReports& operator=(const TimeoutReports&) = delete;

  void set_sink(InputSink* sink) { sink_ = sink; }

  // The job is to be ended as soon as all is reported.
  void OnOutOfTime(const std::string& nspace);
  // Of any job.
  void OnEnded(const std::string& nspace);

 private:
  struct Report {
    std::string nspace;  // of the job that is out of time
    EventLoop::TimerId timer = 0;
  };

  Result<std::string> Begin(const std::string& nspace);
  void End(const std::string& nspace);

  EventLoop* const loop_;
  Families* const families_;
  JobStarter* const starter_;
  StateCollector* const states_;
  const JobPlanner& planner_;
  InputSink* sink_ = nullptr;
  std::map<std::string, Report> reports_;  // by the job that reports
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_TIMEOUT_REPORTS_H_
