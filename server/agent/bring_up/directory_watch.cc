#include "server/agent/bring_up/directory_watch.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "common/posix/dir_lock.h"

namespace canopy::agent {
namespace {

void TouchFile(const std::string& path) {
  utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

}  // namespace

DirectoryWatch::DirectoryWatch(EventLoop* loop, Options options)
    : loop_(loop),
      options_(std::move(options)),
      directory_(ShareDir(options_.directory)),
      touched_(EventLoop::Now()) {
  shared_.resize(options_.shared.size());
  LockShared();
  if (directory_) Arm();
}

DirectoryWatch::~DirectoryWatch() {
  if (timer_ != 0) loop_->CancelTimer(timer_);
}

void DirectoryWatch::Arm() {
  timer_ = loop_->AddTimer(options_.look_ns, [this] {
    Arm();
    Look();
  });
}

// Locks the directories that are not locked yet, because other programs may
// create them later.
void DirectoryWatch::LockShared() {
  for (size_t i = 0; i < shared_.size(); ++i) {
    if (!shared_[i]) shared_[i] = ShareDir(options_.shared[i]);
  }
}

void DirectoryWatch::Look() {
  LockShared();
  if (!IsDirAt(directory_.get(), options_.directory)) {
    return options_.removed();
  }
  if (EventLoop::Now() - touched_ < options_.touch_ns) return;
  touched_ = EventLoop::Now();
  Touch();
}

void DirectoryWatch::Touch() const {
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(options_.directory, error)) {
    TouchFile(entry.path());
  }
  for (const std::string& path : options_.files) TouchFile(path);
}

}  // namespace canopy::agent
