#include "client/cli/history/job_recorder.h"

#include <chrono>

#include "common/status.h"

namespace canopy::cli {
namespace {

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void SetEnd(int exit_code, const std::string& reason, HistoryEntry* entry) {
  entry->ended_ms = NowMs();
  entry->exit_code = exit_code;
  entry->reason = reason;
}

}  // namespace

void JobRecorder::set_output(const std::string& path) {
  const MutexLock lock(mutex_);
  entry_.output = path;
}

void JobRecorder::SetName(const std::string& job) {
  if (entry_.job.empty()) {
    entry_.requested_ms = NowMs();
    entry_.launcher = MarkOfThisProcess();
  } else if (entry_.job != job) {
    entry_.earlier += (entry_.earlier.empty() ? "" : " ") + entry_.job;
  }
  entry_.job = job;
}

void JobRecorder::Queued(const std::string& job) {
  const MutexLock lock(mutex_);
  if (!entry_.job.empty()) return;
  SetName(job);
  Store(&entry_);
}

void JobRecorder::Mapped(const std::string& job, const JobPlace& place) {
  const MutexLock lock(mutex_);
  SetName(job);
  entry_.num_procs = place.num_procs;
  entry_.num_nodes = place.num_nodes;
  entry_.nodes = place.nodes;
  entry_.started_ms = NowMs();
  Store(&entry_);
}

void JobRecorder::Ended(int exit_code, const std::string& reason) {
  const MutexLock lock(mutex_);
  if (entry_.job.empty()) return;
  SetEnd(exit_code, reason, &entry_);
  Store(&entry_);
}

void JobRecorder::Spawned(const SpawnedJob& spawned) {
  const MutexLock lock(mutex_);
  if (num_spawned_ == kMaxSpawned) return;
  const auto [found, is_new] = spawned_.try_emplace(spawned.job);
  if (!is_new) return;
  ++num_spawned_;
  HistoryEntry& entry = found->second;
  entry.job = spawned.job;
  entry.parent = spawned.parent;
  entry.command = spawned.command;
  entry.num_procs = spawned.place.num_procs;
  entry.num_nodes = spawned.place.num_nodes;
  entry.nodes = spawned.place.nodes;
  entry.context = entry_.context;
  entry.output = entry_.output;
  entry.launcher = entry_.launcher;
  entry.requested_ms = entry.started_ms = NowMs();
}

void JobRecorder::SpawnedEnded(const std::string& job, int exit_code,
                               const std::string& reason) {
  const MutexLock lock(mutex_);
  auto spawned = spawned_.extract(job);
  if (!spawned) return;
  HistoryEntry& entry = spawned.mapped();
  SetEnd(exit_code, reason, &entry);
  Store(&entry);
}

void JobRecorder::Store(HistoryEntry* entry) {
  const Status status = store_.Put(entry, &database_);
  if (status.ok() || std::exchange(fails_, true)) return;
  warn_(status.message() + " (the job itself is not affected)");
}

}  // namespace canopy::cli
