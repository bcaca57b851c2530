// Reads the state of files in a thread of its own, because a file system may
// not answer.
#ifndef CANOPY_SERVER_MONITOR_FILE_PROBER_H_
#define CANOPY_SERVER_MONITOR_FILE_PROBER_H_

#include <functional>
#include <memory>

#include "common/event_loop.h"
#include "server/monitor/monitor_table.h"

namespace canopy::monitor {

// Loop thread only. The thread starts with the first file; if the system
// refuses it, the files wait and the start is retried each second. If a file
// system does not answer, the thread outlives this object, but not the process.
class FileProber {
 public:
  using Answer = std::function<void(uint64_t monitor, const FileState& state)>;

  // `answer` is called in the loop while this object exists; the loop must
  // outlive this object. Files are read with the rights of this process.
  FileProber(EventLoop* loop, Answer answer);
  ~FileProber();
  FileProber(const FileProber&) = delete;
  FileProber& operator=(const FileProber&) = delete;

  // Queues a file to be read. The answer may never come.
  void Look(Probe probe);

 private:
  struct Shared;

  void Start();
  static void Serve(const std::shared_ptr<Shared>& shared);

  EventLoop* const loop_;
  const std::shared_ptr<Shared> shared_;
  EventLoop::TimerId retry_timer_ = 0;
};

// Returns the state of the file at a path, following links.
FileState StateOf(const std::string& path);

}  // namespace canopy::monitor

#endif  // CANOPY_SERVER_MONITOR_FILE_PROBER_H_
