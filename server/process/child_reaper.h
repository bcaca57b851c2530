// Reaps child processes that are about to end, without blocking.
#ifndef CANOPY_SERVER_PROCESS_CHILD_REAPER_H_
#define CANOPY_SERVER_PROCESS_CHILD_REAPER_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "common/event_loop.h"
#include "common/posix/unique_fd.h"

namespace canopy::process {

// Uses no SIGCHLD handler, which would affect the whole process. Loop thread
// only.
class ChildReaper {
 public:
  explicit ChildReaper(EventLoop* loop) : loop_(loop) {}
  ~ChildReaper();
  ChildReaper(const ChildReaper&) = delete;
  ChildReaper& operator=(const ChildReaper&) = delete;

  // Reaps the child `pid` when it ends, or at once if it has ended.
  void Reap(int pid);
  // Returns the number of children that have not ended yet. If this process
  // ends before them, they become children of the init process, which in many
  // containers does not reap children.
  size_t pending() const { return watched_.size() + polled_.size(); }

 private:
  void OnEnded(int pid);
  void Poll();

  EventLoop* const loop_;
  std::unordered_map<int, UniqueFd> watched_;  // process descriptors, by pid
  // Children without a process descriptor, because the kernel is older than 5.3
  // or no descriptor was available. They are polled at growing intervals of at
  // most one second.
  std::vector<int> polled_;
  int64_t interval_ns_ = 0;
  EventLoop::TimerId timer_ = 0;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_CHILD_REAPER_H_
