// One thread's event loop: descriptors, timers and work posted from outside.
#ifndef CANOPY_COMMON_EVENT_LOOP_H_
#define CANOPY_COMMON_EVENT_LOOP_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "common/thread_annotations.h"

namespace canopy {

// epoll underneath. Everything but Post and Stop is called on the loop's own
// thread, or by one thread at a time while nobody runs the loop; anything else
// ends the program (check.h). Callbacks run on the loop thread, may add and
// remove descriptors and timers (their own too), and must not block.
//
// The loop is also a capability (thread_annotations.h), the role of its thread:
// an object that belongs to a loop has members that are guarded by it, and its
// public functions begin with AssertOnThread, as do callbacks.
class CANOPY_CAPABILITY("event loop") EventLoop {
 public:
  using TimerId = uint64_t;

  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Watches fd for `events` (EPOLLIN, EPOLLOUT, ...; level-triggered). The
  // loop does not own fd: Unwatch before closing it.
  void Watch(int fd, uint32_t events,
             std::function<void(uint32_t events)> callback);
  // Changes what a watched fd is watched for.
  void Rewatch(int fd, uint32_t events);
  void Unwatch(int fd);

  // Runs the callback once, not before `delay_ns` from now.
  TimerId AddTimer(int64_t delay_ns, std::function<void()> callback);
  // No effect for a timer that ran or was cancelled.
  void CancelTimer(TimerId id);

  // What a loop sleeps in instead of waiting for its descriptors alone.
  class Waiter {
   public:
    virtual ~Waiter() = default;
    // Loop thread. Returns when `fd` is readable or after timeout_ms (-1: no
    // limit; 0: at once), or earlier. True: `fd` may be readable.
    virtual bool Wait(int fd, int timeout_ms) = 0;
  };
  // Not owned; until another is set, or null for none.
  void SetWaiter(Waiter* waiter);

  // Runs `work` on the loop thread, in the order posted. Any thread. Work
  // posted after the loop ended is destroyed with the loop, unrun.
  void Post(std::function<void()> work);

  // Runs `work` at the end of the current round, after its callbacks and posted
  // work: the place to flush what the round has queued. What that work defers
  // runs in the same round too, but only to a small depth; then the next round
  // begins, without sleeping, so that work that defers itself starves nobody.
  void Defer(std::function<void()> work);

  // Until Stop.
  void Run();
  // Any thread, or a signal-free callback.
  void Stop();
  // One round: waits at most timeout_ms (-1: for ever; 0: not at all).
  void RunOnce(int timeout_ms);
  // The number of the current round, or of the last one; 0 before the first.
  uint64_t round() const;

  // CLOCK_MONOTONIC nanoseconds.
  static int64_t Now();
  // Whether the caller may use the loop and what belongs to it: it runs it, or
  // nobody does. Any thread.
  bool OnThread() const;
  // Ends the program if not. Costs a comparison.
  void AssertOnThread() const CANOPY_ASSERT_CAPABILITY(this);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace canopy

#endif  // CANOPY_COMMON_EVENT_LOOP_H_
