// Reaps child processes that are about to end, without blocking.
#ifndef CANOPY_SERVER_PROCESS_CHILD_REAPER_H_
#define CANOPY_SERVER_PROCESS_CHILD_REAPER_H_

#include <cstdint>
#include <vector>

#include "common/event_loop.h"

namespace canopy::process {

// Needs no SIGCHLD handler, which would belong to the whole process. Loop
// thread only.
class ChildReaper {
 public:
  explicit ChildReaper(EventLoop* loop) : loop_(loop) {}
  ~ChildReaper();
  ChildReaper(const ChildReaper&) = delete;
  ChildReaper& operator=(const ChildReaper&) = delete;

  // The child has closed its descriptors or will soon: looks now, and then at
  // growing intervals of at most a second.
  void Reap(int pid);
  size_t pending() const { return pids_.size(); }

 private:
  void Look();

  EventLoop* const loop_;
  std::vector<int> pids_;
  int64_t interval_ns_ = 0;
  EventLoop::TimerId timer_ = 0;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_CHILD_REAPER_H_
