// Runs callbacks: on a thread that is started when the first callback needs it,
// or in PMIx_Progress if the program drives progress itself. Also watches
// descriptors, one for each server, so that answers and events are received
// while no caller is waiting.
#ifndef CANOPY_CLIENT_CHANNEL_PROGRESS_H_
#define CANOPY_CLIENT_CHANNEL_PROGRESS_H_

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <thread>

#include "common/mutex.h"
#include "common/posix/unique_fd.h"

namespace canopy::client {

// Thread-safe, except that Watch must precede Arm, and Stop must come last.
class Progress {
 public:
  using Task = std::function<void()>;

  static constexpr char kThreadName[] = "pmix-progress";

  // A non-blocking call in progress. Tasks that any thread posts during the
  // call run after its end, so that its callback never runs before the call has
  // returned. Calls that begin after a task was posted do not delay it.
  class Call {
   public:
    explicit Call(Progress* progress);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    Progress* const progress_;
    uint64_t number_ = 0;
  };

  // If `external` is set, this object creates no thread, and RunPending runs
  // all tasks.
  explicit Progress(bool external);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  bool external() const { return external_; }

  // Runs `task` later, in order, never inside this call and never under a lock.
  // After Stop tasks are dropped.
  void Post(Task task);

  // Identifies a watched descriptor. 0 identifies none, and no number is used
  // twice.
  using WatchId = uint32_t;
  // Watches `fd`: `readable` runs when `fd` is readable or closed while the
  // watch is armed. The caller keeps ownership of the descriptor, which must
  // outlive the watch.
  WatchId Watch(int fd, Task readable);
  // Ends the watch. A task that is running, or about to run, is completed.
  void Unwatch(WatchId id);
  // Sets whether the watch is armed. Makes at most one system call, and none if
  // the state does not change.
  void Arm(WatchId id, bool on);

  // Runs the tasks that are due, without waiting. Does nothing unless
  // external() is true. Also does nothing if it is called from a task, or while
  // another thread runs the tasks.
  void RunPending();

  // Returns true on the thread that is running a task.
  bool InTask() const;

  // Ends the thread, runs the tasks that are due and drops all others. Must not
  // be called from inside a task.
  void Stop();

 private:
  struct Queued {
    Task task;
    uint64_t after = 0;  // calls up to this number must have ended
  };

  struct Watched {
    int fd = -1;
    Task readable;
    bool armed = false;
    bool added = false;  // the descriptor is in epoll_, armed or masked
  };

  bool IsDueLocked() const CANOPY_REQUIRES(mu_);
  void EnsureThreadLocked() CANOPY_REQUIRES(mu_);
  void ThreadMain();
  void PollOnce(int timeout_ms);
  // Returns the task to run because the descriptor `id` is readable or was
  // closed.
  Task OnReadyLocked(WatchId id) CANOPY_REQUIRES(mu_);
  // Runs tasks until none is due.
  void RunTasks();
  void WakeLocked() CANOPY_REQUIRES(mu_);

  const bool external_;
  UniqueFd epoll_;
  UniqueFd wake_;
  Mutex mu_;
  std::deque<Queued> tasks_ CANOPY_GUARDED_BY(mu_);
  uint64_t last_call_ CANOPY_GUARDED_BY(mu_) = 0;
  std::set<uint64_t> calls_ CANOPY_GUARDED_BY(mu_);  // calls in progress
  std::map<WatchId, Watched> watched_ CANOPY_GUARDED_BY(mu_);
  WatchId last_watch_ CANOPY_GUARDED_BY(mu_) = 0;
  bool sleeping_ CANOPY_GUARDED_BY(mu_) = false;
  bool stopping_ CANOPY_GUARDED_BY(mu_) = false;
  bool stopped_ CANOPY_GUARDED_BY(mu_) = false;
  // True if the destructor or Stop must join thread_.
  bool running_ CANOPY_GUARDED_BY(mu_) = false;
  pthread_t thread_{};
  std::atomic<std::thread::id> runner_{};
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_CHANNEL_PROGRESS_H_
