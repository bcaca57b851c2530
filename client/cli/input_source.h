// Our standard input on its way to a job.
#ifndef CANOPY_CLIENT_CLI_INPUT_SOURCE_H_
#define CANOPY_CLIENT_CLI_INPUT_SOURCE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

namespace canopy::cli {

// Reads no more ahead than a window; from a terminal only in the foreground.
// One thread, but for Consumed.
class InputSource {
 public:
  // `fd`: -1 for none. Not owned.
  explicit InputSource(int fd);

  // To poll for reading now; -1: not now.
  int PollFd() const;
  // When PollFd gave -1 for the terminal's sake: how often to ask again, in
  // ms; else -1.
  int RetryMs() const;
  // The next piece; empty: the end of the input; no value: nothing now.
  std::optional<std::string> Read();
  // So much has been taken by the job. One thread, which may be another one,
  // and the same as that of Forget: what was read before that may be counted
  // still.
  void Consumed(uint64_t bytes) {
    uint64_t now = in_flight_;
    while (!in_flight_.compare_exchange_weak(now, now - std::min(now, bytes))) {
    }
  }
  // Whoever took it is gone: nothing is on its way any more. Any thread.
  void Forget() { in_flight_ = 0; }
  // The end of the input was read. Any thread.
  bool ended() const { return ended_; }
  bool waits_for_window() const;

 private:
  bool InBackground() const;

  const int fd_;
  const bool terminal_;
  bool open_;
  std::atomic<bool> ended_{false};
  std::atomic<uint64_t> in_flight_{0};
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_INPUT_SOURCE_H_
