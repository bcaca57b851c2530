#include "client/cli/base/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

namespace canopy::cli {

SignalSource::SignalSource() {
  sigset_t taken;
  sigemptyset(&taken);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT, SIGUSR1,
                           SIGUSR2, SIGWINCH}) {
    struct sigaction old;
    if (sigaction(number, nullptr, &old) == 0 && old.sa_handler != SIG_IGN) {
      sigaddset(&taken, number);
    }
  }
  fd_ = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
  sigaddset(&taken, SIGTTIN);
  pthread_sigmask(SIG_BLOCK, &taken, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

SignalSource::~SignalSource() {
  if (fd_ >= 0) close(fd_);
}

std::optional<int> SignalSource::Take() {
  signalfd_siginfo info;
  if (read(fd_, &info, sizeof info) != sizeof info) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

bool IsEndSignal(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
}

}  // namespace canopy::cli
