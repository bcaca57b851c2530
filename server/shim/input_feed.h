// Writes standard input to the processes of a job that take it.
#ifndef CANOPY_SERVER_SHIM_INPUT_FEED_H_
#define CANOPY_SERVER_SHIM_INPUT_FEED_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "common/bytes.h"
#include "common/event_loop.h"
#include "common/ids.h"
#include "common/posix/unique_fd.h"

namespace canopy::process {

// Loop thread only.
class InputFeed {
 public:
  // That many bytes were written to every rank that they were for, or those
  // ranks do not read any more.
  using OnDone = std::function<void(uint64_t bytes)>;

  InputFeed(EventLoop* loop, OnDone on_done);
  ~InputFeed();
  InputFeed(const InputFeed&) = delete;
  InputFeed& operator=(const InputFeed&) = delete;

  // Takes the writing end of a rank's standard input.
  void Add(Rank rank, UniqueFd pipe);
  // Queues data for the ranks (empty: all that take input). Without data: end
  // of file after what is queued.
  void Feed(const std::vector<Rank>& ranks, std::string_view data);
  // The rank has ended.
  void Close(Rank rank);
  // Bytes that were fed and are not done.
  uint64_t pending() const { return outstanding_->pending; }

 private:
  // Outlives the feed in the pieces that are still queued.
  struct Outstanding {
    uint64_t pending = 0;
    OnDone done;
  };
  struct Pipe {
    UniqueFd fd;
    std::deque<Bytes> queue;
    bool end_wanted = false;
    bool waiting = false;  // for the pipe to take more
  };

  // Counts as pending until the last copy is gone, then as done.
  Bytes Track(std::string_view data);
  void FeedOne(Rank rank, Pipe* pipe, const Bytes& data);
  void Write(Rank rank);

  EventLoop* const loop_;
  const std::shared_ptr<Outstanding> outstanding_ =
      std::make_shared<Outstanding>();
  std::map<Rank, Pipe> pipes_;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_INPUT_FEED_H_
