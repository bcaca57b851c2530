// Ends connections that say nothing, by the policy of silent_connections.h.
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
// yet to read what its peers have sent. Loop thread only; the loop outlives it.
class SilenceWatch {
 public:
  using Id = SilentConnections::Id;
  enum class Reason { kTimeout, kMakesRoom };
  struct Parts {
    SilentConnections::Parts policy;
    // Has to end this connection, which is not watched any more. Leaves the
    // watch alone, but for Remove.
    std::function<void(Id id, Reason reason)> end;
    // Nanoseconds of a monotonic clock.
    std::function<int64_t()> now = EventLoop::Now;
  };

  SilenceWatch(EventLoop* loop, Parts parts);
  ~SilenceWatch();
  SilenceWatch(const SilenceWatch&) = delete;
  SilenceWatch& operator=(const SilenceWatch&) = delete;

  // Makes room for a connection from there, which may end another one. False:
  // the newcomer has to be refused. `supply`: of descriptors.
  bool MakeRoom(const Source& source, Supply supply);
  // From now on the connection is silent. `id`: not one that is watched.
  void Add(Id id, const Source& source);
  // It has said what it is for, or is closed. No effect for one that is not
  // watched.
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
  int64_t running_ns_ = 0;  // time in which the loop ran
  int64_t looked_ns_ = 0;   // when the clock was looked at last
  EventLoop::TimerId timer_ = 0;
};

}  // namespace canopy::net

#endif  // CANOPY_SERVER_NET_SILENCE_WATCH_H_
