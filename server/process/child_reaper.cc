#include "server/process/child_reaper.h"

#include <sys/wait.h>

#include <algorithm>
#include <cerrno>

namespace canopy::process {
namespace {

constexpr int64_t kFirstIntervalNs = 1000000;
constexpr int64_t kLastIntervalNs = 1000000000;

bool IsReaped(int pid) {
  const pid_t done = waitpid(pid, nullptr, WNOHANG);
  return done == pid || (done < 0 && errno == ECHILD);
}

}  // namespace

ChildReaper::~ChildReaper() {
  if (timer_ != 0) loop_->CancelTimer(timer_);
}

void ChildReaper::Reap(int pid) {
  pids_.push_back(pid);
  interval_ns_ = kFirstIntervalNs;
  if (timer_ != 0) loop_->CancelTimer(timer_);
  Look();
}

void ChildReaper::Look() {
  timer_ = 0;
  std::erase_if(pids_, IsReaped);
  if (pids_.empty()) return;
  timer_ = loop_->AddTimer(interval_ns_, [this] { Look(); });
  interval_ns_ = std::min(interval_ns_ * 2, kLastIntervalNs);
}

}  // namespace canopy::process
