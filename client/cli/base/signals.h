// Delivers signals as events of a poll loop.
#ifndef CANOPY_CLIENT_CLI_BASE_SIGNALS_H_
#define CANOPY_CLIENT_CLI_BASE_SIGNALS_H_

#include <signal.h>

#include <optional>

namespace canopy::cli {

// Receives, during its lifetime, the signals that end a job or are forwarded to
// it: SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT, SIGUSR1, SIGUSR2 and SIGWINCH.
// Signals that were ignored before stay ignored. Reading the terminal from the
// background (SIGTTIN) and writing to a closed pipe (SIGPIPE) fail instead of
// stopping or ending the process. Construct it once, before any thread is
// started.
class SignalSource {
 public:
  SignalSource();
  ~SignalSource();
  SignalSource(const SignalSource&) = delete;
  SignalSource& operator=(const SignalSource&) = delete;

  // Returns a descriptor that is readable when Take has a signal to return.
  int fd() const { return fd_; }
  // Returns the next signal; no value if there is none.
  std::optional<int> Take();

 private:
  int fd_ = -1;
};

// Returns true for the signals that request the end of the command: SIGINT,
// SIGTERM and SIGHUP.
bool IsEndSignal(int signal);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_BASE_SIGNALS_H_
