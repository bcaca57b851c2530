// Notices changes of the entries of a directory.
#ifndef CANOPY_SERVER_KUBERNETES_DEVICE_PLUGIN_DIRECTORY_WATCH_H_
#define CANOPY_SERVER_KUBERNETES_DEVICE_PLUGIN_DIRECTORY_WATCH_H_

#include <functional>
#include <string>

#include "common/event_loop.h"
#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace canopy::kubernetes {

// Loop thread only.
class DirectoryWatch {
 public:
  // `on_change` is called from the loop after entries were added or removed,
  // once for several changes; the callee looks which. It may destroy or restart
  // the watch.
  DirectoryWatch(EventLoop* loop, std::string path,
                 std::function<void()> on_change);
  ~DirectoryWatch();
  DirectoryWatch(const DirectoryWatch&) = delete;
  DirectoryWatch& operator=(const DirectoryWatch&) = delete;

  // Starts to watch, unless the watch is active. kErrNotFound: there is no such
  // directory; kErrOutOfResource: the system refuses the watch.
  Status Start();
  // Returns false before Start, and after the directory itself was removed or
  // moved, which is reported as a change.
  bool active() const { return static_cast<bool>(inotify_); }

 private:
  void Stop();
  void OnEvents();
  // Reads events. Returns false if there is none.
  bool ReadSome();

  EventLoop* const loop_;
  const std::string path_;
  const std::function<void()> on_change_;
  UniqueFd inotify_;
  bool is_gone_ = false;
};

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_DEVICE_PLUGIN_DIRECTORY_WATCH_H_
