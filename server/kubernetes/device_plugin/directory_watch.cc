#include "server/kubernetes/device_plugin/directory_watch.h"

#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace canopy::kubernetes {
namespace {

constexpr uint32_t kChanges = IN_CREATE | IN_MOVED_TO | IN_DELETE |
                              IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF;
// The number of reads of one round, each of many events.
constexpr int kMaxReads = 16;

Status WatchError(const std::string& path, int error) {
  const bool is_missing = error == ENOENT || error == ENOTDIR;
  return Status(is_missing ? kErrNotFound : kErrOutOfResource,
                "cannot watch directory " + path + ": " + std::strerror(error));
}

}  // namespace

DirectoryWatch::DirectoryWatch(EventLoop* loop, std::string path,
                               std::function<void()> on_change)
    : loop_(loop), path_(std::move(path)), on_change_(std::move(on_change)) {}

DirectoryWatch::~DirectoryWatch() { Stop(); }

Status DirectoryWatch::Start() {
  if (active()) return Status();
  UniqueFd inotify(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!inotify || inotify_add_watch(inotify.get(), path_.c_str(),
                                    kChanges | IN_ONLYDIR) < 0) {
    return WatchError(path_, errno);
  }
  inotify_ = std::move(inotify);
  is_gone_ = false;
  loop_->Watch(inotify_.get(), EPOLLIN, [this](uint32_t) { OnEvents(); });
  return Status();
}

void DirectoryWatch::Stop() {
  if (!active()) return;
  loop_->Unwatch(inotify_.get());
  inotify_.Reset();
}

void DirectoryWatch::OnEvents() {
  for (int i = 0; i < kMaxReads && ReadSome(); ++i) {
  }
  if (is_gone_) Stop();
  // A copy is called, because the call may destroy this object.
  const auto on_change = on_change_;
  on_change();
}

bool DirectoryWatch::ReadSome() {
  alignas(inotify_event) char buffer[4096];
  const ssize_t size = read(inotify_.get(), buffer, sizeof buffer);
  for (ssize_t at = 0; at < size;) {
    inotify_event event;
    std::memcpy(&event, buffer + at, sizeof event);
    if ((event.mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED)) != 0) {
      is_gone_ = true;
    }
    at += static_cast<ssize_t>(sizeof event + event.len);
  }
  return size > 0;
}

}  // namespace canopy::kubernetes
