// Returns free memory to the system after a peak.
#ifndef CANOPY_SERVER_ENDPOINT_MEMORY_RETURN_H_
#define CANOPY_SERVER_ENDPOINT_MEMORY_RETURN_H_

#include <cstddef>
#include <cstdint>

#include "common/event_loop.h"

namespace canopy::endpoint {

// The allocator keeps freed memory, because it expects to need it again. After
// one process with a gigabyte of requests, an agent would keep that gigabyte as
// long as it runs. Loop thread only; the loop must outlive this object.
class MemoryReturn {
 public:
  struct Options {
    int64_t delay_ns = int64_t{2} * 1000 * 1000 * 1000;
    // The loop is calm if it has had at most `calm_rounds` rounds in `calm_ns`.
    int64_t calm_ns = int64_t{50} * 1000 * 1000;
    uint64_t calm_rounds = 3;
    // The memory is returned anyway after this many checks of a busy loop.
    int max_busy = 20;
    size_t worthwhile_bytes = size_t{32} << 20;
  };

  explicit MemoryReturn(EventLoop* loop) : MemoryReturn(loop, Options()) {}
  MemoryReturn(EventLoop* loop, const Options& options);
  ~MemoryReturn();
  MemoryReturn(const MemoryReturn&) = delete;
  MemoryReturn& operator=(const MemoryReturn&) = delete;

  // Called after memory was freed that may be a large amount. After
  // Options::delay_ns, checks how much memory is free, and returns it when the
  // loop is calm. Until then, further calls cost one comparison.
  void OnReleased();

  int num_returns() const { return num_returns_; }

 private:
  void After(int64_t delay_ns, void (MemoryReturn::*step)());
  void BeginToLook();
  void Look();
  bool IsWorthwhile() const;

  EventLoop* const loop_;
  const Options options_;
  EventLoop::TimerId timer_ = 0;
  uint64_t round_ = 0;
  int busy_ = 0;
  size_t resident_ = 0;  // resident memory after the last return
  int num_returns_ = 0;
};

}  // namespace canopy::endpoint

#endif  // CANOPY_SERVER_ENDPOINT_MEMORY_RETURN_H_
