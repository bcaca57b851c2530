// Looks at files in a thread of its own, as a file system may not answer.
#ifndef CANOPY_SERVER_MONITOR_FILE_PROBER_H_
#define CANOPY_SERVER_MONITOR_FILE_PROBER_H_

#include <functional>
#include <memory>

#include "common/event_loop.h"
#include "server/monitor/monitor_table.h"

namespace canopy::monitor {

// Loop thread only. The thread begins with the first file and, when a file
// system does not answer, outlives this object, but not the process.
class FileProber {
 public:
  using Answer = std::function<void(uint64_t monitor, const FileState& state)>;

  // `answer` is called in the loop, which outlives this, unless this goes
  // before. With the rights of this process.
  FileProber(EventLoop* loop, Answer answer);
  ~FileProber();
  FileProber(const FileProber&) = delete;
  FileProber& operator=(const FileProber&) = delete;

  void Look(Probe probe);

 private:
  struct Shared;

  static void Serve(const std::shared_ptr<Shared>& shared);

  const std::shared_ptr<Shared> shared_;
};

// What lies behind a path, links followed.
FileState StateOf(const std::string& path);

}  // namespace canopy::monitor

#endif  // CANOPY_SERVER_MONITOR_FILE_PROBER_H_
