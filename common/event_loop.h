// One thread's event loop: descriptors, timers and work posted from outside.
#ifndef CANOPY_COMMON_EVENT_LOOP_H_
#define CANOPY_COMMON_EVENT_LOOP_H_

#include <cstdint>
#include <functional>
#include <memory>

namespace canopy {

// epoll underneath. Everything but Post and Stop is called on the loop's own
// thread (or before Run). Callbacks run on the loop thread, may add and remove
// descriptors and timers (their own too), and must not block.
class EventLoop {
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

  // Runs `work` when the current round of callbacks and posted work is over,
  // before the loop sleeps: the place to flush what the round has queued.
  void Defer(std::function<void()> work);

  // Until Stop.
  void Run();
  // Any thread, or a signal-free callback.
  void Stop();
  // One round: waits at most timeout_ms (-1: for ever; 0: not at all).
  void RunOnce(int timeout_ms);

  // CLOCK_MONOTONIC nanoseconds.
  static int64_t Now();
  bool OnLoopThread() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace canopy

#endif  // CANOPY_COMMON_EVENT_LOOP_H_
