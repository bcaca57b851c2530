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
  Store();
}

void JobRecorder::Mapped(const std::string& job, const JobPlace& place) {
  const MutexLock lock(mutex_);
  SetName(job);
  entry_.num_procs = place.num_procs;
  entry_.num_nodes = place.num_nodes;
  entry_.nodes = place.nodes;
  entry_.started_ms = NowMs();
  Store();
}

void JobRecorder::Ended(int exit_code, const std::string& reason) {
  const MutexLock lock(mutex_);
  if (entry_.job.empty()) return;
  entry_.ended_ms = NowMs();
  entry_.exit_code = exit_code;
  entry_.reason = reason;
  Store();
}

void JobRecorder::Store() {
  const Status status = store_.Put(&entry_);
  if (status.ok() || std::exchange(fails_, true)) return;
  warn_(status.message() + " (the job itself is not affected)");
}

}  // namespace canopy::cli
