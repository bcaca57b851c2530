// The monitors of local processes: schedules their checks and decides when they
// alert.
#ifndef CANOPY_SERVER_MONITOR_MONITOR_TABLE_H_
#define CANOPY_SERVER_MONITOR_MONITOR_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/status.h"
#include "server/monitor/monitor_call.h"

namespace canopy::monitor {

// The limit of monitors of one process; more are rejected (kErrOutOfResource).
inline constexpr size_t kMaxMonitors = 16;
// The limits of monitors of resource usage: of one process, and of all
// processes of this node together.
inline constexpr size_t kMaxUsageMonitors = 4;
inline constexpr size_t kMaxUsageMonitorsOfNode = 256;
// A monitor of resource usage pauses at least this many times as long as its
// last sample took, so that samples of a busy or large system become rarer.
inline constexpr int64_t kPauseFactor = 9;

// The state of a file at one check.
struct FileState {
  bool exists = false;
  int64_t size = 0;
  int64_t accessed_ns = 0;
  int64_t modified_ns = 0;
};

// An event to be raised.
struct Alert {
  ProcId proc;
  int code = 0;
  std::string id;  // id of the monitor
};

// A file to be checked.
struct Probe {
  uint64_t monitor = 0;
  std::string path;
};

// A sample of resource usage to be taken.
struct Sample {
  uint64_t monitor = 0;
  ProcId proc;  // the process for which it is taken
  UsageCall usage;
};

// The alerts, checks and samples that are due.
struct Due {
  std::vector<Alert> alerts;
  std::vector<Probe> probes;
  std::vector<Sample> samples;
};

// Pure: the time is an argument, in nanoseconds of a monotonic clock. A check
// fails if there was no heartbeat or no change of the file. A monitor alerts
// once when more consecutive checks have failed than it tolerates, and can
// alert again after a check that succeeded. A monitor of resource usage has at
// most one sample in progress. Used by one thread.
class MonitorTable {
 public:
  // Starts a monitor, or replaces a monitor of the same process and id. Returns
  // its number; kErrOutOfResource above the limits.
  Result<uint64_t> Start(int64_t now, const ProcId& proc,
                         const MonitorCall& call);
  // Cancels a monitor; an empty `id` stands for all monitors of the process.
  // Returns kErrNotFound if there is no monitor with that id.
  Status Cancel(const ProcId& proc, const std::string& id);
  // Records a heartbeat for all monitors of the process.
  void Beat(const ProcId& proc);
  // Handles the state of a file. Returns the alert, if there is one. An answer
  // that comes too late has no effect.
  std::optional<Alert> OnProbed(uint64_t monitor, const FileState& state);
  // Handles the end of a sample that began at `began`. Returns the event for
  // its results; no value if the monitor was cancelled meanwhile.
  std::optional<Alert> OnSampled(int64_t now, int64_t began, uint64_t monitor);
  // Cancels one monitor. No effect if there is no monitor with that number.
  void Drop(uint64_t monitor) { Erase(monitor); }
  // Returns the checks and samples that are due at `now`, and the alerts of
  // checks that have failed.
  Due TakeDue(int64_t now);
  // Returns the time when the next check is due; no value if there is none.
  std::optional<int64_t> NextDue() const;
  // Stops the checks while debuggers hold processes of the job (`held`). When
  // the hold ends, each monitor of the job waits for a whole period until its
  // next check.
  void OnHeld(int64_t now, const std::string& nspace, bool held);
  // Cancel the monitors of a process, and of all processes of a job.
  void DropProc(const ProcId& proc);
  void DropJob(const std::string& nspace);
  size_t size() const { return monitors_.size(); }

 private:
  struct Monitor {
    ProcId proc;
    MonitorCall call;
    int64_t due = 0;
    uint32_t in_vain = 0;  // number of consecutive failed checks
    bool beaten = false;   // kHeartbeat: a beat came since the last check
    bool probing = false;  // kFile, kUsage: no answer yet
    std::optional<FileState> last;
  };
  using Monitors = std::map<uint64_t, Monitor>;

  bool HasRoom(const ProcId& proc, Kind kind) const;
  void Look(uint64_t number, Monitor* monitor, Due* due);
  static std::optional<Alert> Note(Monitor* monitor, bool in_vain);
  void Queue(int64_t due, uint64_t number, Monitor* monitor);
  Monitors::iterator Find(const ProcId& proc, const std::string& id);
  void Erase(uint64_t number);

  Monitors monitors_;
  std::map<ProcId, std::set<uint64_t>> of_procs_;
  std::set<std::pair<int64_t, uint64_t>> queue_;  // time and monitor
  std::set<std::string> held_;                    // jobs that debuggers hold
  uint64_t last_ = 0;
  size_t num_usage_ = 0;  // monitors of resource usage
};

}  // namespace canopy::monitor

#endif  // CANOPY_SERVER_MONITOR_MONITOR_TABLE_H_
