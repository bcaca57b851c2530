// One thread's event loop: descriptors, timers and work posted from outside.
#ifndef CANOPY_COMMON_EVENT_LOOP_H_
#define CANOPY_COMMON_EVENT_LOOP_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "common/thread_annotations.h"

namespace canopy {

// Uses epoll. All functions but Post and Stop are called on the loop's own
// thread, or by one thread at a time while no thread runs the loop; any other
// call ends the program (check.h). Callbacks run on the loop thread. They may
// add and remove descriptors and timers, including their own, and must not
// block.
//
// The loop is also a capability (thread_annotations.h), the role of its thread.
// An object that belongs to a loop has members that the loop guards, and its
// public functions and callbacks begin with AssertOnThread.
class CANOPY_CAPABILITY("event loop") EventLoop {
 public:
  using TimerId = uint64_t;

  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Watches fd for `events` (EPOLLIN, EPOLLOUT, ...; level-triggered). The
  // caller keeps ownership of fd and calls Unwatch before it closes fd.
  void Watch(int fd, uint32_t events,
             std::function<void(uint32_t events)> callback);
  // Changes the events for which fd is watched.
  void Rewatch(int fd, uint32_t events);
  void Unwatch(int fd);

  // Runs the callback once, at least `delay_ns` from now.
  TimerId AddTimer(int64_t delay_ns, std::function<void()> callback);
  // Has no effect if the timer has run or was cancelled.
  void CancelTimer(TimerId id);

  // Replaces the wait for the loop's descriptors, so that the thread can wait
  // for something else as well.
  class Waiter {
   public:
    virtual ~Waiter() = default;
    // Called on the loop thread. Returns when `fd` is readable, when timeout_ms
    // have passed (-1: no limit; 0: at once), or earlier. Returns true if `fd`
    // may be readable.
    virtual bool Wait(int fd, int timeout_ms) = 0;
  };
  // Sets the waiter, which the caller owns. It is used until another waiter, or
  // null, is set.
  void SetWaiter(Waiter* waiter);

  // Runs `work` on the loop thread, in the order of the calls. Any thread. Work
  // posted after the loop ended is destroyed with the loop without having run.
  void Post(std::function<void()> work);

  // Runs `work` at the end of the current round, after its callbacks and posted
  // work, which is the place to flush what the round has queued. Work that this
  // work defers runs in the same round too, up to a small depth. The rest runs
  // in the next round, which begins without sleeping; so work that defers
  // itself does not starve the descriptors.
  void Defer(std::function<void()> work);

  // Runs the loop until Stop.
  void Run();
  // Ends Run. Any thread; not from a signal handler.
  void Stop();
  // Runs one round, which waits at most timeout_ms (-1: no limit; 0: not at
  // all).
  void RunOnce(int timeout_ms);
  // Returns the number of the current round, or of the last one; 0 before the
  // first.
  uint64_t round() const;

  // Returns CLOCK_MONOTONIC in nanoseconds.
  static int64_t Now();
  // Returns whether the caller may use the loop and the objects that belong to
  // it: the caller runs the loop, or no thread does. Any thread.
  bool OnThread() const;
  // Ends the program if OnThread is false. Costs one comparison.
  void AssertOnThread() const CANOPY_ASSERT_CAPABILITY(this);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace canopy

#endif  // CANOPY_COMMON_EVENT_LOOP_H_
