// Runs an event loop in tests until a condition holds.
#ifndef CANOPY_SERVER_KUBERNETES_API_LOOP_TESTING_H_
#define CANOPY_SERVER_KUBERNETES_API_LOOP_TESTING_H_

#include <cstdint>
#include <functional>

#include "common/event_loop.h"

namespace canopy::kubernetes {

// Returns false if the condition does not hold within half a minute, which only
// ends a test that hangs.
inline bool RunUntil(EventLoop* loop, const std::function<bool()>& holds) {
  const int64_t deadline = EventLoop::Now() + 30'000'000'000;
  while (!holds()) {
    if (EventLoop::Now() > deadline) return false;
    loop->RunOnce(5);
  }
  return true;
}

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_API_LOOP_TESTING_H_
