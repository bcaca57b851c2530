#include "common/event_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/mutex.h"

namespace canopy {
namespace {

using Work = std::function<void()>;

// Identifies a watch inside epoll data. A descriptor number may be reused
// within one round; its generation is not.
struct Watched {
  uint32_t generation = 0;
  std::shared_ptr<std::function<void(uint32_t)>> callback;
};

uint64_t PackKey(int fd, uint32_t generation) {
  return (static_cast<uint64_t>(generation) << 32) | static_cast<uint32_t>(fd);
}

constexpr int kMaxEvents = 256;
// Levels of deferred work that one round runs. Work that produces output may be
// followed by its flush, a flush by the closing of connections, and a closed
// connection by notifications of other clients.
constexpr int kDeferDepth = 4;

}  // namespace

struct EventLoop::Impl {
  int epoll_fd = -1;
  int wake_fd = -1;
  Waiter* waiter = nullptr;
  uint64_t round = 0;
  uint32_t next_generation = 1;
  std::unordered_map<int, Watched> watches;

  TimerId next_timer = 1;
  std::map<std::pair<int64_t, TimerId>, Work> timers;
  std::unordered_map<TimerId, int64_t> timer_due;

  Mutex mutex;
  std::vector<Work> posted CANOPY_GUARDED_BY(mutex);
  bool wake_pending CANOPY_GUARDED_BY(mutex) = false;
  std::vector<Work> deferred;
  std::vector<Work> spare;  // empty; reuses the memory of deferred work
  std::atomic<bool> stop{false};
  std::atomic<std::thread::id> owner{};

  void DrainWakeups() const {
    uint64_t count;
    while (read(wake_fd, &count, sizeof count) < 0 && errno == EINTR) {
    }
  }

  // Waits and returns the number of events.
  int Wait(epoll_event* events, int timeout_ms) const {
    if (waiter != nullptr) {
      if (!waiter->Wait(epoll_fd, timeout_ms)) return 0;
      timeout_ms = 0;
    }
    return epoll_wait(epoll_fd, events, kMaxEvents, timeout_ms);
  }

  bool RunPosted() {
    std::vector<Work> work;
    {
      const MutexLock lock(mutex);
      work.swap(posted);
      wake_pending = false;
    }
    for (Work& w : work) w();
    return !work.empty();
  }

  void RunTimers() {
    const int64_t now = EventLoop::Now();
    while (!timers.empty() && timers.begin()->first.first <= now) {
      auto node = timers.extract(timers.begin());
      timer_due.erase(node.key().second);
      node.mapped()();
    }
  }

  // Runs deferred work, which may defer more work and may run a nested round of
  // the loop.
  void RunDeferred() {
    std::vector<Work> work = std::move(spare);
    for (int depth = 0; depth < kDeferDepth && !deferred.empty(); ++depth) {
      work.swap(deferred);
      for (Work& w : work) w();
      work.clear();
    }
    spare = std::move(work);
  }

  int WaitMillis(int timeout_ms) const {
    if (!deferred.empty()) return 0;
    if (timers.empty()) return timeout_ms;
    const int64_t left = timers.begin()->first.first - EventLoop::Now();
    const int64_t ms = left <= 0 ? 0 : (left + 999999) / 1000000;
    if (timeout_ms >= 0 && timeout_ms < ms) return timeout_ms;
    return static_cast<int>(std::min<int64_t>(ms, 1 << 30));
  }

  void Dispatch(const epoll_event& event) {
    const int fd = static_cast<int>(event.data.u64 & 0xffffffff);
    const auto generation = static_cast<uint32_t>(event.data.u64 >> 32);
    if (fd == wake_fd && generation == 0) {
      DrainWakeups();
      return;
    }
    auto it = watches.find(fd);
    if (it == watches.end() || it->second.generation != generation) return;
    const auto callback = it->second.callback;
    (*callback)(event.events);
  }
};

EventLoop::EventLoop() : impl_(std::make_unique<Impl>()) {
  impl_->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  impl_->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = PackKey(impl_->wake_fd, 0);
  epoll_ctl(impl_->epoll_fd, EPOLL_CTL_ADD, impl_->wake_fd, &event);
}

EventLoop::~EventLoop() {
  close(impl_->wake_fd);
  close(impl_->epoll_fd);
}

void EventLoop::Watch(int fd, uint32_t events,
                      std::function<void(uint32_t)> callback) {
  AssertOnThread();
  Watched watched;
  watched.generation = impl_->next_generation++;
  watched.callback =
      std::make_shared<std::function<void(uint32_t)>>(std::move(callback));
  epoll_event event{};
  event.events = events;
  event.data.u64 = PackKey(fd, watched.generation);
  const bool known = impl_->watches.contains(fd);
  impl_->watches[fd] = std::move(watched);
  epoll_ctl(impl_->epoll_fd, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
}

void EventLoop::Rewatch(int fd, uint32_t events) {
  AssertOnThread();
  auto it = impl_->watches.find(fd);
  if (it == impl_->watches.end()) return;
  epoll_event event{};
  event.events = events;
  event.data.u64 = PackKey(fd, it->second.generation);
  epoll_ctl(impl_->epoll_fd, EPOLL_CTL_MOD, fd, &event);
}

void EventLoop::Unwatch(int fd) {
  AssertOnThread();
  if (impl_->watches.erase(fd) == 0) return;
  epoll_ctl(impl_->epoll_fd, EPOLL_CTL_DEL, fd, nullptr);
}

EventLoop::TimerId EventLoop::AddTimer(int64_t delay_ns, Work callback) {
  AssertOnThread();
  const TimerId id = impl_->next_timer++;
  const int64_t due = Now() + std::max<int64_t>(delay_ns, 0);
  impl_->timer_due[id] = due;
  impl_->timers.emplace(std::make_pair(due, id), std::move(callback));
  return id;
}

void EventLoop::CancelTimer(TimerId id) {
  AssertOnThread();
  auto it = impl_->timer_due.find(id);
  if (it == impl_->timer_due.end()) return;
  impl_->timers.erase({it->second, id});
  impl_->timer_due.erase(it);
}

void EventLoop::Post(Work work) {
  bool wake = false;
  {
    const MutexLock lock(impl_->mutex);
    impl_->posted.push_back(std::move(work));
    wake = !std::exchange(impl_->wake_pending, true);
  }
  if (!wake) return;
  const uint64_t one = 1;
  while (write(impl_->wake_fd, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

void EventLoop::SetWaiter(Waiter* waiter) { impl_->waiter = waiter; }

void EventLoop::Defer(Work work) {
  AssertOnThread();
  impl_->deferred.push_back(std::move(work));
}

void EventLoop::RunOnce(int timeout_ms) {
  impl_->owner.store(std::this_thread::get_id(), std::memory_order_relaxed);
  ++impl_->round;
  epoll_event events[kMaxEvents];
  const int n = impl_->Wait(events, impl_->WaitMillis(timeout_ms));
  for (int i = 0; i < n; ++i) impl_->Dispatch(events[i]);
  impl_->RunPosted();
  impl_->RunTimers();
  impl_->RunDeferred();
}

void EventLoop::Run() {
  while (!impl_->stop) RunOnce(-1);
  impl_->owner.store(std::thread::id(), std::memory_order_relaxed);
}

void EventLoop::Stop() {
  impl_->stop = true;
  Post([] {});
}

uint64_t EventLoop::round() const { return impl_->round; }

int64_t EventLoop::Now() {
  timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return ts.tv_sec * int64_t{1000000000} + ts.tv_nsec;
}

bool EventLoop::OnThread() const {
  const std::thread::id owner = impl_->owner.load(std::memory_order_relaxed);
  return owner == std::this_thread::get_id() || owner == std::thread::id();
}

void EventLoop::AssertOnThread() const { CANOPY_CHECK(OnThread()); }

}  // namespace canopy
