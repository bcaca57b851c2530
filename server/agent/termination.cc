#include "server/agent/termination.h"

#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <utility>

namespace canopy::agent {

Termination::Termination(
    EventLoop* loop, std::function<void(const std::string& reason)> requested)
    : loop_(loop), requested_(std::move(requested)) {}

Termination::~Termination() {
  if (signals_) loop_->Unwatch(signals_.get());
  UnwatchLauncher();
}

void Termination::WatchSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : {SIGINT, SIGTERM}) sigaddset(&set, s);
  signals_.Reset(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) return;
  loop_->Watch(signals_.get(), EPOLLIN, [this](uint32_t) {
    signalfd_siginfo info;
    while (read(signals_.get(), &info, sizeof info) == sizeof info) {
      requested_("signal " + std::to_string(info.ssi_signo));
    }
  });
}

void Termination::WatchLauncher(int fd) {
  launcher_ = fd;
  loop_->Watch(fd, EPOLLIN, [this](uint32_t) {
    char ignored[256];
    if (read(launcher_, ignored, sizeof ignored) > 0) return;
    UnwatchLauncher();
    requested_("the launcher is gone");
  });
}

void Termination::UnwatchLauncher() {
  const int fd = std::exchange(launcher_, -1);
  if (fd >= 0) loop_->Unwatch(fd);
}

bool Termination::Begin(const std::string& reason) {
  if (std::exchange(begun_, true)) return false;
  spdlog::info("ending: {}", reason);
  return true;
}

}  // namespace canopy::agent
