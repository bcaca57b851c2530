// The output of a container's ranks on the container's own streams.
#ifndef CANOPY_SERVER_SHIM_POD_POD_OUTPUT_H_
#define CANOPY_SERVER_SHIM_POD_POD_OUTPUT_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "common/ids.h"

namespace canopy::process {

// Marks the lines of several ranks with the number of their rank. Not
// synchronised.
class RankLines {
 public:
  // With `marks`, each line begins with "[RANK] ".
  explicit RankLines(bool marks) : marks_(marks) {}

  // Returns the text to write for another piece of a rank's stream. An
  // incomplete line is kept for the next piece, so that lines of several ranks
  // do not mix, unless it is longer than kMaxLine bytes.
  std::string Take(Rank rank, uint16_t channel, std::string_view data);
  // Returns the incomplete lines of a channel.
  std::string TakeRest(uint16_t channel);

  static constexpr size_t kMaxLine = 64u << 10;

 private:
  std::string Mark(Rank rank) const;

  const bool marks_;
  std::map<std::pair<uint16_t, Rank>, std::string> rest_;
};

// Writes in a thread of its own, because the reader of a container's streams
// may stall. Put is called by one thread.
class PodOutput {
 public:
  // Called in the writing thread after `bytes` bytes that Put received were
  // written, or dropped because the stream is broken.
  using Written = std::function<void(uint64_t bytes)>;

  PodOutput(int out, int err, bool marks, Written written);
  // Writes everything that is left, and waits for that.
  ~PodOutput();
  PodOutput(const PodOutput&) = delete;
  PodOutput& operator=(const PodOutput&) = delete;

  // `channel` is kChannelStdout or kChannelStderr.
  void Put(Rank rank, uint16_t channel, std::string_view data);

 private:
  struct Piece {
    int fd = -1;
    std::string text;
    uint64_t bytes = 0;  // of the ranks, without marks
  };

  void Queue(Piece piece);
  void Run();
  int FdOf(uint16_t channel) const;

  const int out_;
  const int err_;
  const Written written_;
  RankLines lines_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Piece> pieces_;
  bool ends_ = false;
  std::thread writer_;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_POD_POD_OUTPUT_H_
