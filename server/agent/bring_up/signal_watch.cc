#include "server/agent/bring_up/signal_watch.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <utility>

namespace canopy::agent {

SignalWatch::SignalWatch(EventLoop* loop, std::initializer_list<int> signals,
                         std::function<void(int signal)> raised)
    : loop_(loop), raised_(std::move(raised)) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  fd_.Reset(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_) return;
  loop_->Watch(fd_.get(), EPOLLIN, [this](uint32_t) {
    signalfd_siginfo info;
    while (read(fd_.get(), &info, sizeof info) == sizeof info) {
      raised_(static_cast<int>(info.ssi_signo));
    }
  });
}

SignalWatch::~SignalWatch() {
  if (fd_) loop_->Unwatch(fd_.get());
}

}  // namespace canopy::agent
