#include "server/agent/termination.h"

#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <utility>

namespace canopy::agent {

Termination::Termination(
    EventLoop* loop, std::function<void(const std::string& reason)> requested)
    : loop_(loop), requested_(std::move(requested)) {}

Termination::~Termination() { UnwatchLauncher(); }

void Termination::WatchSignals(std::initializer_list<int> signals) {
  signals_.emplace(loop_, signals, [this](int signal) {
    requested_("signal " + std::to_string(signal));
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
