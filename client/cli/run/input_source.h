// Our standard input on its way to a job.
#ifndef CANOPY_CLIENT_CLI_RUN_INPUT_SOURCE_H_
#define CANOPY_CLIENT_CLI_RUN_INPUT_SOURCE_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "common/mutex.h"

namespace canopy::cli {

// Some of the input, by its position in all of it.
struct InputPiece {
  uint64_t position = 0;
  std::string data;  // empty: the end of the input
};

// Reads no more ahead than a window, and keeps what the job has not taken; from
// a terminal only in the foreground. One thread, but for what is said
// otherwise.
class InputSource {
 public:
  // `fd`: -1 for none. Not owned.
  explicit InputSource(int fd);

  // To poll for reading now; -1: not now.
  int PollFd() const;
  // When PollFd gave -1 for the terminal's sake: how often to ask again, in
  // ms; else -1.
  int RetryMs() const;
  // The next piece; no value: nothing now.
  std::optional<InputPiece> Read();
  // So much more has been taken by the job. Any thread.
  void Consumed(uint64_t bytes);
  // So much in all. Any thread.
  void ConsumedTo(uint64_t position);
  // Position of what is kept. Any thread.
  uint64_t begin() const;
  // What was read and not taken, in pieces, and maybe some before. Any thread.
  std::vector<InputPiece> Kept() const;
  // Whoever took it is gone: nothing is kept but the end. Any thread.
  void Forget();
  bool waits_for_window() const;

 private:
  bool InBackground() const;
  void DropTo(uint64_t position) CANOPY_REQUIRES(mutex_);

  const int fd_;
  const bool terminal_;
  bool open_;
  mutable Mutex mutex_;
  std::deque<InputPiece> kept_ CANOPY_GUARDED_BY(mutex_);  // whole ones
  // Positions: of what was not taken, and of what was read.
  uint64_t begin_ CANOPY_GUARDED_BY(mutex_) = 0;
  uint64_t end_ CANOPY_GUARDED_BY(mutex_) = 0;
  bool ended_ CANOPY_GUARDED_BY(mutex_) = false;  // the end was read
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_INPUT_SOURCE_H_
