// Protects an agent's directory against cleaners of temporary files, and
// detects its removal.
#ifndef CANOPY_SERVER_AGENT_BRING_UP_DIRECTORY_WATCH_H_
#define CANOPY_SERVER_AGENT_BRING_UP_DIRECTORY_WATCH_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/event_loop.h"
#include "common/posix/unique_fd.h"
#include "common/time_units.h"

namespace canopy::agent {

// A cleaner such as systemd-tmpfiles removes files that were not used for days,
// but leaves out directories that a process has locked (flock). Other cleaners
// look only at the times of the files. So this class holds shared locks of the
// agent's directory and of the directories in `shared`, and touches the files
// from time to time. Loop thread only.
class DirectoryWatch {
 public:
  struct Options {
    std::string directory;            // the agent's own
    std::vector<std::string> shared;  // further directories to lock
    std::vector<std::string> files;   // files elsewhere to touch
    int64_t look_ns = 5 * kNsPerSecond;
    int64_t touch_ns = 3600 * kNsPerSecond;
    // Called every `look_ns` while `directory` does not exist or is another
    // directory than at the start.
    std::function<void()> removed;
  };

  // `loop` outlives this object.
  DirectoryWatch(EventLoop* loop, Options options);
  ~DirectoryWatch();
  DirectoryWatch(const DirectoryWatch&) = delete;
  DirectoryWatch& operator=(const DirectoryWatch&) = delete;

 private:
  void Arm();
  void LockShared();
  void Look();
  void Touch() const;

  EventLoop* const loop_;
  const Options options_;
  UniqueFd directory_;
  std::vector<UniqueFd> shared_;
  int64_t touched_;
  EventLoop::TimerId timer_ = 0;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_BRING_UP_DIRECTORY_WATCH_H_
