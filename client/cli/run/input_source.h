// Forwards the standard input of this process to a job.
#ifndef CANOPY_CLIENT_CLI_RUN_INPUT_SOURCE_H_
#define CANOPY_CLIENT_CLI_RUN_INPUT_SOURCE_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "common/mutex.h"

namespace canopy::cli {

// A part of the input, with its position in the whole input.
struct InputPiece {
  uint64_t position = 0;
  std::string data;  // empty: the end of the input
};

// Reads at most one window ahead, and retains the input that the job has not
// consumed. Reads from a terminal only in the foreground. Used by one thread,
// except where noted.
class InputSource {
 public:
  // `fd` is -1 if there is no input. It is not owned. With `for_terminal` the
  // input is for a process that has a terminal, and the bytes read are encoded
  // by EncodePtyText (common/request/pty_input.h).
  explicit InputSource(int fd, bool for_terminal = false);

  // Returns the descriptor to poll for reading, or -1 if nothing is to be read
  // now.
  int PollFd() const;
  // If PollFd returned -1 because this process is in the terminal's background,
  // returns the interval for retries in milliseconds; otherwise -1.
  int RetryMs() const;
  // Returns the next piece, or no value if there is none now.
  std::optional<InputPiece> Read();
  // Appends data that was not read, and returns it as the next piece.
  InputPiece Insert(std::string data);
  // Records that the job has consumed `bytes` more. Any thread.
  void Consumed(uint64_t bytes);
  // Records that the job has consumed all input before `position`. Any thread.
  void ConsumedTo(uint64_t position);
  // Returns the position at which the retained input begins. Any thread.
  uint64_t begin() const;
  // Returns the input that was read and not consumed, in whole pieces; the
  // first piece may begin before that input. Any thread.
  std::vector<InputPiece> Kept() const;
  // Drops the retained input, except the mark of its end, because its consumer
  // is lost. Any thread.
  void Forget();
  // Returns true if no input is read because the job has not consumed a whole
  // window. Any thread.
  bool waits_for_window() const;

 private:
  bool InBackground() const;
  void DropTo(uint64_t position) CANOPY_REQUIRES(mutex_);

  const int fd_;
  const bool terminal_;
  const bool for_terminal_;
  bool open_;
  mutable Mutex mutex_;
  std::deque<InputPiece> kept_ CANOPY_GUARDED_BY(mutex_);  // whole pieces
  // The positions of the first input that was not consumed, and of the end of
  // the input that was read.
  uint64_t begin_ CANOPY_GUARDED_BY(mutex_) = 0;
  uint64_t end_ CANOPY_GUARDED_BY(mutex_) = 0;
  // True if the end of the input was read.
  bool ended_ CANOPY_GUARDED_BY(mutex_) = false;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_INPUT_SOURCE_H_
