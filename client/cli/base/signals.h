// Signals as events of a poll loop.
#ifndef CANOPY_CLIENT_CLI_BASE_SIGNALS_H_
#define CANOPY_CLIENT_CLI_BASE_SIGNALS_H_

#include <signal.h>

#include <optional>

namespace canopy::cli {

// Takes, while it lives, the signals that end a job or are passed on to it:
// SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT, SIGUSR1, SIGUSR2, SIGWINCH; those
// that were ignored before stay so. Reading the terminal from the background
// fails instead of stopping us (SIGTTIN), and writing to a closed pipe too
// (SIGPIPE). Made once, before any thread.
class SignalSource {
 public:
  SignalSource();
  ~SignalSource();
  SignalSource(const SignalSource&) = delete;
  SignalSource& operator=(const SignalSource&) = delete;

  // Readable when there is one to take.
  int fd() const { return fd_; }
  std::optional<int> Take();

 private:
  int fd_ = -1;
};

// Asks for the end of what we do: SIGINT, SIGTERM or SIGHUP.
bool IsEndSignal(int signal);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_BASE_SIGNALS_H_
