// Detects a shim that does not answer although its processes were to be killed.
#ifndef CANOPY_SERVER_PROCESS_SHIM_WATCH_H_
#define CANOPY_SERVER_PROCESS_SHIM_WATCH_H_

#include <cstdint>
#include <functional>

#include "common/event_loop.h"

namespace canopy::process {

// A job ends when its shim has reported the exits of its ranks. A shim that is
// stopped, or whose connection is no longer usable, would never report them.
// But a kill without exits is no proof of this, because processes may also take
// long to die. So a request is sent to the shim, which must answer it in time.
// Loop thread only; the loop outlives this object.
class ShimWatch {
 public:
  struct Events {
    // Sends the shim a request. Returns false if nothing is awaited from it.
    std::function<bool()> ask;
    // The shim has not answered. The call may destroy this object.
    std::function<void()> lost;
  };

  // `answer_ms` is the time for an answer.
  ShimWatch(EventLoop* loop, uint32_t answer_ms, Events events);
  ~ShimWatch() { Stop(); }
  ShimWatch(const ShimWatch&) = delete;
  ShimWatch& operator=(const ShimWatch&) = delete;

  // Called when the shim was ordered to kill its processes within `grace_ms`.
  void OnKill(uint32_t grace_ms);
  // Called when a frame of the shim has arrived.
  void OnFrame() { answered_ = true; }
  void Stop();

 private:
  void Wait(int64_t ms, std::function<void()> then);
  void Ask();

  EventLoop* const loop_;
  const int64_t answer_ms_;
  const Events events_;
  EventLoop::TimerId timer_ = 0;
  bool answered_ = false;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_SHIM_WATCH_H_
