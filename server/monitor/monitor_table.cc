#include "server/monitor/monitor_table.h"

#include <algorithm>
#include <utility>

namespace canopy::monitor {
namespace {

int64_t PeriodNs(const MonitorCall& call) {
  return int64_t{call.seconds} * 1000 * 1000 * 1000;
}

bool HasChanged(const MonitorCall& call, const FileState& before,
                const FileState& now) {
  if (before.exists != now.exists) return now.exists;
  return (call.size && before.size != now.size) ||
         (call.accessed && before.accessed_ns != now.accessed_ns) ||
         (call.modified && before.modified_ns != now.modified_ns);
}

}  // namespace

// Returns true if the process may have another monitor of this kind. Monitors
// of usage cost more, so they have lower limits of their own.
bool MonitorTable::HasRoom(const ProcId& proc, Kind kind) const {
  const auto it = of_procs_.find(proc);
  if (it != of_procs_.end() && it->second.size() >= kMaxMonitors) return false;
  if (kind != Kind::kUsage) return true;
  if (num_usage_ >= kMaxUsageMonitorsOfNode) return false;
  if (it == of_procs_.end()) return true;
  const auto count = std::ranges::count_if(it->second, [this](uint64_t number) {
    return monitors_.at(number).call.kind == Kind::kUsage;
  });
  return static_cast<size_t>(count) < kMaxUsageMonitors;
}

Result<uint64_t> MonitorTable::Start(int64_t now, const ProcId& proc,
                                     const MonitorCall& call) {
  if (!call.id.empty()) {
    if (const auto old = Find(proc, call.id); old != monitors_.end()) {
      Erase(old->first);
    }
  }
  if (!HasRoom(proc, call.kind)) {
    return Status(kErrOutOfResource, "too many monitors");
  }
  const uint64_t number = ++last_;
  Monitor& monitor = monitors_[number];
  monitor.proc = proc;
  monitor.call = call;
  // The first check of a file is due at once, because each later check compares
  // the file with an earlier result.
  of_procs_[proc].insert(number);
  Queue(call.kind == Kind::kFile ? now : now + PeriodNs(call), number,
        &monitor);
  // The call is answered with the first sample. The caller of Start requests
  // that sample, so no sample is due here yet.
  monitor.probing = call.kind == Kind::kUsage;
  if (call.kind == Kind::kUsage) ++num_usage_;
  return number;
}

// Sets the time when a monitor is due, and replaces the earlier time.
void MonitorTable::Queue(int64_t due, uint64_t number, Monitor* monitor) {
  queue_.erase({monitor->due, number});
  monitor->due = due;
  queue_.emplace(due, number);
}

Status MonitorTable::Cancel(const ProcId& proc, const std::string& id) {
  if (id.empty()) {
    DropProc(proc);
    return Status();
  }
  const auto it = Find(proc, id);
  if (it == monitors_.end()) return Status(kErrNotFound, "no such monitor");
  Erase(it->first);
  return Status();
}

MonitorTable::Monitors::iterator MonitorTable::Find(const ProcId& proc,
                                                    const std::string& id) {
  const auto it = of_procs_.find(proc);
  if (it == of_procs_.end()) return monitors_.end();
  for (const uint64_t number : it->second) {
    const auto monitor = monitors_.find(number);
    if (monitor->second.call.id == id) return monitor;
  }
  return monitors_.end();
}

void MonitorTable::Erase(uint64_t number) {
  const auto monitor = monitors_.extract(number);
  if (monitor.empty()) return;
  if (monitor.mapped().call.kind == Kind::kUsage) --num_usage_;
  queue_.erase({monitor.mapped().due, number});
  const auto it = of_procs_.find(monitor.mapped().proc);
  it->second.erase(number);
  if (it->second.empty()) of_procs_.erase(it);
}

void MonitorTable::Beat(const ProcId& proc) {
  const auto it = of_procs_.find(proc);
  if (it == of_procs_.end()) return;
  for (const uint64_t number : it->second) monitors_.at(number).beaten = true;
}

std::optional<Alert> MonitorTable::Note(Monitor* monitor, bool in_vain) {
  if (!in_vain) {
    monitor->in_vain = 0;
    return std::nullopt;
  }
  // The count stops above the tolerated number, so that there is one alert
  // until a check succeeds.
  const uint64_t tolerated = monitor->call.drops;
  if (monitor->in_vain > tolerated) return std::nullopt;
  if (monitor->in_vain++ < tolerated) return std::nullopt;
  return Alert{monitor->proc, monitor->call.alert, monitor->call.id};
}

std::optional<Alert> MonitorTable::OnProbed(uint64_t number,
                                            const FileState& state) {
  const auto it = monitors_.find(number);
  if (it == monitors_.end() || !it->second.probing) return std::nullopt;
  Monitor& monitor = it->second;
  monitor.probing = false;
  const bool is_first = !monitor.last;
  const bool in_vain =
      !is_first && !HasChanged(monitor.call, *monitor.last, state);
  monitor.last = state;
  return is_first ? std::nullopt : Note(&monitor, in_vain);
}

std::optional<Alert> MonitorTable::OnSampled(int64_t now, int64_t began,
                                             uint64_t number) {
  const auto it = monitors_.find(number);
  if (it == monitors_.end() || !it->second.probing) return std::nullopt;
  Monitor& monitor = it->second;
  monitor.probing = false;
  const int64_t pause = kPauseFactor * (now - began);
  if (now + pause > monitor.due) Queue(now + pause, number, &monitor);
  return Alert{monitor.proc, monitor.call.alert, monitor.call.id};
}

void MonitorTable::Look(uint64_t number, Monitor* monitor, Due* due) {
  std::optional<Alert> alert;
  if (monitor->call.kind == Kind::kHeartbeat) {
    alert = Note(monitor, !monitor->beaten);
    monitor->beaten = false;
  } else if (monitor->call.kind == Kind::kUsage) {
    // No second sample is requested while the first one is in progress, which
    // may take longer than the period.
    if (std::exchange(monitor->probing, true)) return;
    due->samples.push_back({number, monitor->proc, monitor->call.usage});
  } else if (monitor->probing) {
    // The previous check has no answer yet. A file system that does not answer
    // counts as a file without a change.
    alert = Note(monitor, true);
  } else {
    monitor->probing = true;
    due->probes.push_back({number, monitor->call.path});
  }
  if (alert) due->alerts.push_back(*std::move(alert));
}

Due MonitorTable::TakeDue(int64_t now) {
  Due due;
  while (!queue_.empty() && queue_.begin()->first <= now) {
    const uint64_t number = queue_.begin()->second;
    Monitor& monitor = monitors_.at(number);
    if (!held_.contains(monitor.proc.nspace)) Look(number, &monitor, &due);
    // An agent that was late does not count checks that it missed.
    Queue(now + PeriodNs(monitor.call), number, &monitor);
  }
  return due;
}

void MonitorTable::OnHeld(int64_t now, const std::string& nspace, bool held) {
  if (held) {
    held_.insert(nspace);
    return;
  }
  if (held_.erase(nspace) == 0) return;
  for (auto& [number, monitor] : monitors_) {
    if (monitor.proc.nspace != nspace) continue;
    Queue(now + PeriodNs(monitor.call), number, &monitor);
  }
}

std::optional<int64_t> MonitorTable::NextDue() const {
  if (queue_.empty()) return std::nullopt;
  return queue_.begin()->first;
}

void MonitorTable::DropProc(const ProcId& proc) {
  const auto it = of_procs_.find(proc);
  if (it == of_procs_.end()) return;
  for (const uint64_t number : std::set(it->second)) Erase(number);
}

void MonitorTable::DropJob(const std::string& nspace) {
  std::vector<ProcId> procs;
  for (const auto& [proc, numbers] : of_procs_) {
    if (proc.nspace == nspace) procs.push_back(proc);
  }
  for (const ProcId& proc : procs) DropProc(proc);
  held_.erase(nspace);
}

}  // namespace canopy::monitor
