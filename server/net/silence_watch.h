// Ends silent connections according to the policy of silent_connections.h.
#ifndef CANOPY_SERVER_NET_SILENCE_WATCH_H_
#define CANOPY_SERVER_NET_SILENCE_WATCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "common/event_loop.h"
#include "server/net/descriptors.h"
#include "server/net/silent_connections.h"
#include "server/net/source.h"

namespace canopy::net {

// Time counts only while the loop runs, because a process that was stopped has
// not yet read the data that its peers have sent. Loop thread only; the loop
// must outlive this object.
class SilenceWatch {
 public:
  using Id = SilentConnections::Id;
  enum class Reason { kTimeout, kMakesRoom };
  struct Parts {
    SilentConnections::Parts policy;
    // Must end this connection, which is not watched any more. May call no
    // method of the watch except Remove.
    std::function<void(Id id, Reason reason)> end;
    // Returns nanoseconds of a monotonic clock.
    std::function<int64_t()> now = EventLoop::Now;
  };

  SilenceWatch(EventLoop* loop, Parts parts);
  ~SilenceWatch();
  SilenceWatch(const SilenceWatch&) = delete;
  SilenceWatch& operator=(const SilenceWatch&) = delete;

  // Makes room for a connection from `source`, for which another connection may
  // end. Returns false if the new connection must be refused. `supply` is the
  // supply of descriptors.
  bool MakeRoom(const Source& source, Supply supply);
  // Watches a connection, which counts as silent from now on. `id` must not be
  // watched already.
  void Add(Id id, const Source& source);
  // Stops watching a connection that has identified itself or is closed. No
  // effect if it is not watched.
  void Remove(Id id) { silent_.Remove(id); }

  bool empty() const { return silent_.size() == 0; }
  size_t num_of(const Source& source) const { return silent_.num_of(source); }

 private:
  int64_t Now();
  void SetTimer();
  void OnTimer();

  EventLoop* const loop_;
  const std::function<void(Id, Reason)> end_;
  const std::function<int64_t()> now_;
  const int64_t step_ns_;
  SilentConnections silent_;
  int64_t running_ns_ = 0;  // time for which the loop ran
  int64_t looked_ns_ = 0;   // the time when the clock was read last
  EventLoop::TimerId timer_ = 0;
};

}  // namespace canopy::net

#endif  // CANOPY_SERVER_NET_SILENCE_WATCH_H_
