// PMIx_Process_monitor and PMIx_Heartbeat.
#ifndef CANOPY_SERVER_MONITOR_MONITOR_SERVICE_H_
#define CANOPY_SERVER_MONITOR_MONITOR_SERVICE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "common/bytes.h"
#include "common/event_loop.h"
#include "common/ids.h"
#include "common/status.h"
#include "server/core/step/host.h"
#include "server/core/step/job_actions.h"
#include "server/core/step/process_inputs.h"
#include "server/core/step/usage.h"
#include "server/host/directives.h"
#include "server/monitor/file_prober.h"
#include "server/monitor/monitor_table.h"
#include "server/ports/input_observer.h"
#include "server/ports/input_sink.h"

namespace canopy::monitor {

// The limit of pending calls of one process that wait for a sample; more are
// rejected (kErrResourceBusy).
inline constexpr size_t kMaxSamples = 4;

// Loop thread only. A monitor ends with the process that requested it (for a
// tool, with its connection), and with this agent.
class MonitorService : public InputObserver {
 public:
  struct Options {
    EventLoop* loop = nullptr;  // must outlive this object
    InputSink* sink = nullptr;  // must outlive this object
    // The user whose rights this process has. Files are not monitored for jobs
    // of other users.
    uint32_t uid = 0;
    std::function<int64_t()> now_ns;
    std::function<void(const core::LogLine&)> log;
  };
  explicit MonitorService(Options options);
  ~MonitorService() override;
  MonitorService(const MonitorService&) = delete;
  MonitorService& operator=(const MonitorService&) = delete;

  // `results` is in codec form (SIZE n, then n INFO), or empty.
  using Answer = std::function<void(const Status& status, Bytes results)>;

  // Executes a call and calls `answer` once, before this function returns or
  // later.
  void Call(const core::AskHost& request, const Answer& answer);
  // Handles the core's answer to a UsageWanted that this object has raised.
  void OnUsage(const core::UsageTaken& taken);
  // Records a heartbeat of the process.
  void Beat(const ProcId& proc) { table_.Beat(proc); }
  void OnLocalExits(const core::LocalExits& exits) override;
  void OnJobHeld(const core::JobHeld& change) override;
  void OnToolGone(const ProcId& proc) override { table_.DropProc(proc); }
  void DropJob(const std::string& nspace) { table_.DropJob(nspace); }

 private:
  // A sample in progress.
  struct Pending {
    ProcId proc;
    uint64_t monitor = 0;  // 0: the call requests one sample
    int64_t began = 0;
    Answer answer;  // for the call; null: an event carries the results
  };

  Status Decide(const core::AskHost& request, const MonitorCall& call);
  Status Start(const core::AskHost& request, const MonitorCall& call);
  Status StartUsage(const core::AskHost& request, const MonitorCall& call,
                    const Answer& answer);
  void Want(Pending pending, UsageCall usage);
  void RaiseUpdate(const Alert& update, const Bytes& results);
  void OnTimer();
  void SetTimer();
  void Raise(const Alert& alert);

  const Options options_;
  host::Directives directives_;
  MonitorTable table_;
  FileProber prober_;
  EventLoop::TimerId timer_ = 0;
  std::map<uint64_t, Pending> pending_;  // by the number of UsageWanted
  uint64_t last_sample_ = 0;
};

}  // namespace canopy::monitor

#endif  // CANOPY_SERVER_MONITOR_MONITOR_SERVICE_H_
