#include "server/process/child_reaper.h"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

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
  for (const auto& [pid, fd] : watched_) loop_->Unwatch(fd.get());
  if (timer_ != 0) loop_->CancelTimer(timer_);
}

void ChildReaper::Reap(int pid) {
  if (IsReaped(pid)) return;
  UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (fd) {
    loop_->Watch(fd.get(), EPOLLIN, [this, pid](uint32_t) { OnEnded(pid); });
    watched_[pid] = std::move(fd);
    return;
  }
  polled_.push_back(pid);
  interval_ns_ = kFirstIntervalNs;
  if (timer_ != 0) loop_->CancelTimer(timer_);
  Poll();
}

void ChildReaper::OnEnded(int pid) {
  const auto it = watched_.find(pid);
  loop_->Unwatch(it->second.get());
  watched_.erase(it);
  (void)IsReaped(pid);
}

void ChildReaper::Poll() {
  timer_ = 0;
  std::erase_if(polled_, IsReaped);
  if (polled_.empty()) return;
  timer_ = loop_->AddTimer(interval_ns_, [this] { Poll(); });
  interval_ns_ = std::min(interval_ns_ * 2, kLastIntervalNs);
}

}  // namespace canopy::process
