// The terminal of the launcher of a job that has a terminal of its own.
#ifndef CANOPY_CLIENT_CLI_RUN_RAW_TERMINAL_H_
#define CANOPY_CLIENT_CLI_RUN_RAW_TERMINAL_H_

#include <termios.h>

#include "common/request/pty_input.h"

namespace canopy::cli {

// Returns the size of the window of a terminal; zeros if it is not known.
PtySize WindowOf(int fd);

// While it is entered, every key is passed on as it is typed: Ctrl-C is input
// of the job, whose own terminal echoes it and makes a signal of it. Single-
// threaded.
class RawTerminal {
 public:
  // `fd` is not owned. -1: there is none, and all calls have no effect.
  explicit RawTerminal(int fd) : fd_(fd) {}
  ~RawTerminal() { Leave(); }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  bool exists() const { return fd_ >= 0; }
  PtySize Window() const { return WindowOf(fd_); }
  // Has no effect in the background, where the terminal is that of another
  // process.
  void Enter();
  // Restores what was set before.
  void Leave();

 private:
  const int fd_;
  bool entered_ = false;
  termios before_ = {};
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_RAW_TERMINAL_H_
