#include "client/channel/progress.h"

#include <errno.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "common/check.h"
#include "common/posix/signal_block.h"

namespace canopy::client {
namespace {

// The tag of the descriptor that wakes the thread. Every other tag is a
// WatchId.
constexpr uint32_t kWakeTag = 0;
// The number of events that one call of epoll_wait returns. Few programs watch
// more than the wake-up descriptor and one server.
constexpr int kEventsAtOnce = 2;

void Control(int epoll, int op, int fd, uint32_t tag, uint32_t events) {
  epoll_event event = {};
  event.events = events;
  event.data.u32 = tag;
  epoll_ctl(epoll, op, fd, &event);
}

}  // namespace

Progress::Progress(bool external)
    : external_(external),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  Control(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), kWakeTag, EPOLLIN);
}

Progress::~Progress() { Stop(); }

Progress::Call::Call(Progress* progress) : progress_(progress) {
  const MutexLock lock(progress_->mu_);
  number_ = ++progress_->last_call_;
  progress_->calls_.insert(number_);
}

Progress::Call::~Call() {
  const MutexLock lock(progress_->mu_);
  progress_->calls_.erase(number_);
  if (progress_->IsDueLocked()) progress_->WakeLocked();
}

bool Progress::IsDueLocked() const {
  return !tasks_.empty() &&
         (calls_.empty() || *calls_.begin() > tasks_.front().after);
}

void Progress::WakeLocked() {
  if (!sleeping_) return;
  sleeping_ = false;
  const uint64_t one = 1;
  ssize_t written = write(wake_.get(), &one, sizeof(one));
  (void)written;
}

void Progress::EnsureThreadLocked() {
  if (external_ || stopping_ || running_) return;
  // The program's signals must not be handled on this thread.
  const SignalBlock block;
  const auto entry = [](void* self) -> void* {
    static_cast<Progress*>(self)->ThreadMain();
    return nullptr;
  };
  // If no thread can be created now, the next task tries again.
  running_ = pthread_create(&thread_, nullptr, entry, this) == 0;
  if (running_) pthread_setname_np(thread_, kThreadName);
}

void Progress::Post(Task task) {
  const MutexLock lock(mu_);
  if (stopped_) return;
  tasks_.push_back({std::move(task), last_call_});
  EnsureThreadLocked();
  WakeLocked();
}

Progress::WatchId Progress::Watch(int fd, Task readable) {
  const MutexLock lock(mu_);
  Watched& watched = watched_[++last_watch_];
  watched.fd = fd;
  watched.readable = std::move(readable);
  return last_watch_;
}

void Progress::Unwatch(WatchId id) {
  const MutexLock lock(mu_);
  const auto it = watched_.find(id);
  if (it == watched_.end()) return;
  if (it->second.added) {
    Control(epoll_.get(), EPOLL_CTL_DEL, it->second.fd, id, 0);
  }
  watched_.erase(it);
}

void Progress::Arm(WatchId id, bool on) {
  const MutexLock lock(mu_);
  const auto it = watched_.find(id);
  if (it == watched_.end() || it->second.armed == on) return;
  Watched& watched = it->second;
  watched.armed = on;
  // The descriptor is masked, not removed, because callers arm and disarm it
  // frequently and masking costs less.
  Control(epoll_.get(), watched.added ? EPOLL_CTL_MOD : EPOLL_CTL_ADD,
          watched.fd, id, on ? static_cast<uint32_t>(EPOLLIN) : 0);
  watched.added = true;
  if (on) EnsureThreadLocked();
}

bool Progress::InTask() const {
  return runner_.load(std::memory_order_relaxed) == std::this_thread::get_id();
}

void Progress::RunTasks() {
  const MutexLock lock(mu_);
  while (IsDueLocked()) {
    Task task = std::move(tasks_.front().task);
    tasks_.pop_front();
    mu_.Unlock();
    task();
    task = nullptr;
    mu_.Lock();
  }
}

Progress::Task Progress::OnReadyLocked(WatchId id) {
  const auto it = watched_.find(id);
  if (it == watched_.end()) return nullptr;
  Watched& watched = it->second;
  if (watched.armed) return watched.readable;
  // epoll also reports the end of a masked descriptor, continuously. So the
  // descriptor is removed.
  if (watched.added) Control(epoll_.get(), EPOLL_CTL_DEL, watched.fd, id, 0);
  watched.added = false;
  return nullptr;
}

void Progress::PollOnce(int timeout_ms) {
  epoll_event events[kEventsAtOnce];
  const int count = epoll_wait(epoll_.get(), events, kEventsAtOnce, timeout_ms);
  Task readable[kEventsAtOnce];
  {
    const MutexLock lock(mu_);
    sleeping_ = false;
    for (int i = 0; i < count; ++i) {
      if (events[i].data.u32 == kWakeTag) {
        uint64_t ignored;
        ssize_t got = read(wake_.get(), &ignored, sizeof(ignored));
        (void)got;
      } else {
        readable[i] = OnReadyLocked(events[i].data.u32);
      }
    }
  }
  for (const Task& task : readable) {
    if (task) task();
  }
}

void Progress::ThreadMain() {
  runner_ = std::this_thread::get_id();
  for (;;) {
    RunTasks();
    {
      const MutexLock lock(mu_);
      if (IsDueLocked()) continue;
      if (stopping_) return;
      sleeping_ = true;
    }
    PollOnce(-1);
  }
}

void Progress::RunPending() {
  if (!external_ || InTask()) return;
  std::thread::id nobody;
  // One thread at a time runs all tasks, including tasks of other callers.
  if (!runner_.compare_exchange_strong(nobody, std::this_thread::get_id())) {
    return;
  }
  PollOnce(0);
  RunTasks();
  runner_ = std::thread::id();
}

void Progress::Stop() {
  if (!CANOPY_CHECK(!InTask())) return;
  bool join = false;
  {
    const MutexLock lock(mu_);
    if (stopped_) return;
    stopping_ = true;
    WakeLocked();
    join = std::exchange(running_, false);
  }
  if (join) pthread_join(thread_, nullptr);
  runner_ = std::this_thread::get_id();
  RunTasks();
  runner_ = std::thread::id();
  // Destroying the tasks may call this object, so it happens without the lock.
  std::deque<Queued> dropped;
  const MutexLock lock(mu_);
  stopped_ = true;
  dropped.swap(tasks_);
}

}  // namespace canopy::client
