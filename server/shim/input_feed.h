// Writes a job's standard input to the processes that read it.
#ifndef CANOPY_SERVER_SHIM_INPUT_FEED_H_
#define CANOPY_SERVER_SHIM_INPUT_FEED_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "common/bytes.h"
#include "common/event_loop.h"
#include "common/ids.h"
#include "common/posix/unique_fd.h"
#include "common/request/pty_input.h"

namespace canopy::process {

// Loop thread only.
class InputFeed {
 public:
  // Reports that another `bytes` bytes were written to every rank that was to
  // read them, or that the remaining ranks no longer read.
  using OnDone = std::function<void(uint64_t bytes)>;

  InputFeed(EventLoop* loop, OnDone on_done);
  ~InputFeed();
  InputFeed(const InputFeed&) = delete;
  InputFeed& operator=(const InputFeed&) = delete;

  // Takes ownership of the writing end of a rank's standard input. For a
  // terminal, the data has the form of common/request/pty_input.h.
  void Add(Rank rank, UniqueFd pipe, bool is_terminal = false);
  // Queues data for `ranks` (empty: all that read input). Empty data means end
  // of file after the queued data.
  void Feed(const std::vector<Rank>& ranks, std::string_view data);
  // Closes the input of a rank whose process has ended.
  void Close(Rank rank);
  // Returns the number of bytes that were fed and not yet reported as done.
  uint64_t pending() const { return outstanding_->pending; }

 private:
  // Queued pieces may keep this object alive longer than the feed.
  struct Outstanding {
    uint64_t pending = 0;
    OnDone done;
  };
  struct Pipe {
    UniqueFd fd;
    std::deque<Bytes> queue;
    bool end_wanted = false;
    bool waiting = false;  // waiting for the pipe to accept more
    std::optional<PtyInputDecoder> terminal = {};  // empty: a pipe
  };

  // Returns data that counts as pending until its last copy is destroyed, and
  // as done afterwards.
  Bytes Track(std::string_view data);
  void FeedOne(Rank rank, Pipe* pipe, const Bytes& data);
  // Removes the changes of the terminal's size from the data, and applies them.
  // Returns the rest of the data, which keeps `data` alive.
  static Bytes Decoded(Pipe* terminal, const Bytes& data);
  void Write(Rank rank);

  EventLoop* const loop_;
  const std::shared_ptr<Outstanding> outstanding_ =
      std::make_shared<Outstanding>();
  std::map<Rank, Pipe> pipes_;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_INPUT_FEED_H_
