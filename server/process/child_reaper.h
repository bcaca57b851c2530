// Reaps child processes that are about to end, without blocking.
#ifndef CANOPY_SERVER_PROCESS_CHILD_REAPER_H_
#define CANOPY_SERVER_PROCESS_CHILD_REAPER_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "common/event_loop.h"
#include "common/posix/unique_fd.h"

namespace canopy::process {

// Needs no SIGCHLD handler, which would belong to the whole process. Loop
// thread only.
class ChildReaper {
 public:
  explicit ChildReaper(EventLoop* loop) : loop_(loop) {}
  ~ChildReaper();
  ChildReaper(const ChildReaper&) = delete;
  ChildReaper& operator=(const ChildReaper&) = delete;

  // Reaps the child `pid` when it ends, which may be now.
  void Reap(int pid);
  // Children that have not ended yet. Whoever ends before they do leaves them
  // to the init process, which in many containers reaps nobody.
  size_t pending() const { return watched_.size() + polled_.size(); }

 private:
  void OnEnded(int pid);
  void Poll();

  EventLoop* const loop_;
  std::unordered_map<int, UniqueFd> watched_;  // process descriptors, by pid
  // Children without a process descriptor (kernels before 5.3, or none left):
  // looked at after growing intervals of at most a second.
  std::vector<int> polled_;
  int64_t interval_ns_ = 0;
  EventLoop::TimerId timer_ = 0;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_CHILD_REAPER_H_
