// Where callbacks run: a thread that is started when the first callback needs
// one, or PMIx_Progress when the program drives progress itself. It also
// watches descriptors, one for each server, so that answers and events are seen
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

// Thread-safe, except that Watch comes before Arm, and Stop comes last.
class Progress {
 public:
  using Task = std::function<void()>;

  static constexpr char kThreadName[] = "pmix-progress";

  // A non-blocking call in progress: what is posted meanwhile, by whatever
  // thread, runs after its end, so that its callback never runs before it has
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

  // `external`: there is no thread; RunPending runs everything.
  explicit Progress(bool external);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  bool external() const { return external_; }

  // Runs `task` later, in order, never inside this call and never under a
  // lock. After Stop it is dropped.
  void Post(Task task);

  // Names a watched descriptor; 0 names none, and no name is used twice.
  using WatchId = uint32_t;
  // `readable` runs when `fd` is readable or closed while armed. The
  // descriptor stays the caller's and must outlive the watch.
  WatchId Watch(int fd, Task readable);
  // A task that is running, or about to run, runs to its end.
  void Unwatch(WatchId id);
  // Cheap: at most one system call, and none when nothing changes.
  void Arm(WatchId id, bool on);

  // Runs what is due now, without waiting. Does nothing unless external, or
  // when called from inside a task.
  void RunPending();

  // True on the thread that is running a task.
  bool InTask() const;

  // Runs the tasks that are queued and ends the thread. Never call it from
  // inside a task.
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
    bool added = false;  // to epoll_, armed or masked
  };

  bool IsDueLocked() const CANOPY_REQUIRES(mu_);
  void EnsureThreadLocked() CANOPY_REQUIRES(mu_);
  void ThreadMain();
  void PollOnce(int timeout_ms);
  // What is to run because the descriptor `id` has something to read, or was
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
  std::set<uint64_t> calls_ CANOPY_GUARDED_BY(mu_);  // in progress
  std::map<WatchId, Watched> watched_ CANOPY_GUARDED_BY(mu_);
  WatchId last_watch_ CANOPY_GUARDED_BY(mu_) = 0;
  bool sleeping_ CANOPY_GUARDED_BY(mu_) = false;
  bool stopping_ CANOPY_GUARDED_BY(mu_) = false;
  bool stopped_ CANOPY_GUARDED_BY(mu_) = false;
  // thread_ is to be joined.
  bool running_ CANOPY_GUARDED_BY(mu_) = false;
  pthread_t thread_{};
  std::atomic<std::thread::id> runner_{};
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_CHANNEL_PROGRESS_H_
