// The terminal of the launcher of a job that has a terminal of its own.
#ifndef CANOPY_CLIENT_CLI_RUN_RAW_TERMINAL_H_
#define CANOPY_CLIENT_CLI_RUN_RAW_TERMINAL_H_

#include <termios.h>

#include "common/request/pty_input.h"

namespace canopy::cli {

// Returns the size of the window of a terminal; zeros if it is not known.
PtySize WindowOf(int fd);

// Between Enter and Leave, the terminal passes on every key as it is typed.
// Ctrl-C, for example, is input of the job: the job's own terminal echoes it
// and turns it into a signal. Used by one thread.
class RawTerminal {
 public:
  // `fd` is not owned. -1: there is no terminal, and all calls have no effect.
  explicit RawTerminal(int fd) : fd_(fd) {}
  ~RawTerminal() { Leave(); }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  bool exists() const { return fd_ >= 0; }
  PtySize Window() const { return WindowOf(fd_); }
  // Starts to pass on the keys as they are typed. Has no effect in the
  // background, where the terminal belongs to another process.
  void Enter();
  // Restores the terminal's previous settings, unless this process is in the
  // background.
  void Leave();

 private:
  const int fd_;
  bool entered_ = false;
  termios before_ = {};
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_RAW_TERMINAL_H_
