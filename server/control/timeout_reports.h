// Reports about a job that has exceeded its time limit, before it is ended: the
// operations that wait and, if requested, the states and stacks of its
// processes (PMIX_TIMEOUT_REPORT_STATE, PMIX_TIMEOUT_STACKTRACES).
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
#include "server/control/launch_pipeline.h"
#include "server/control/state_collector.h"
#include "server/ports/input_sink.h"

namespace canopy::control {

// canopy-stacks collects states and stacks. It runs as a job of the same family
// as the job that has exceeded its time limit, with one process on each node of
// that job, and its output goes to the launcher. It takes no slots, and a
// successor does not know it. Loop thread only. The arguments of the
// constructor outlive this object.
class TimeoutReports {
 public:
  // The time limit of the job that collects the report.
  static constexpr int64_t kLimitNs = 20'000'000'000;

  TimeoutReports(EventLoop* loop, Families* families, LaunchPipeline* pipeline,
                 StateCollector* states, const JobPlanner& planner)
      : loop_(loop),
        families_(families),
        pipeline_(pipeline),
        states_(states),
        planner_(planner) {}
  ~TimeoutReports();
  TimeoutReports(const TimeoutReports&) = delete;
  TimeoutReports& operator=(const TimeoutReports&) = delete;

  void set_sink(InputSink* sink) { sink_ = sink; }

  // Starts the report. The job is ended as soon as the report is complete.
  void OnOutOfTime(const std::string& nspace);
  // Called for every job that ends.
  void OnEnded(const std::string& nspace);

 private:
  struct Report {
    std::string nspace;  // the job that exceeded its limit
    EventLoop::TimerId timer = 0;
  };

  Result<std::string> Begin(const std::string& nspace);
  void End(const std::string& nspace);

  EventLoop* const loop_;
  Families* const families_;
  LaunchPipeline* const pipeline_;
  StateCollector* const states_;
  const JobPlanner& planner_;
  InputSink* sink_ = nullptr;
  std::map<std::string, Report> reports_;  // by the collecting job
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_TIMEOUT_REPORTS_H_
