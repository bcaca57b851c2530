#include "server/monitor/file_prober.h"

#include <sys/stat.h>

#include <deque>
#include <thread>
#include <utility>

#include "common/mutex.h"
#include "common/posix/start_thread.h"
#include "common/time_units.h"

namespace canopy::monitor {
namespace {

constexpr int64_t kRetryNs = kNsPerSecond;

int64_t NsOf(const timespec& time) {
  return time.tv_sec * kNsPerSecond + time.tv_nsec;
}

}  // namespace

FileState StateOf(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return {};
  return {true, info.st_size, NsOf(info.st_atim), NsOf(info.st_mtim)};
}

// The thread holds no lock while it waits for a file system.
struct FileProber::Shared {
  Mutex mu;
  CondVar changed;
  std::deque<Probe> probes CANOPY_GUARDED_BY(mu);
  // Null: the prober was destroyed.
  EventLoop* loop CANOPY_GUARDED_BY(mu) = nullptr;
  bool is_running = false;  // used by the loop thread
  Answer answer;            // used by the loop thread

  // Waits for the next probe. Returns false if the prober was destroyed.
  bool Take(Probe* probe) {
    const MutexLock lock(mu);
    while (loop != nullptr && probes.empty()) changed.Wait(mu);
    if (loop == nullptr) return false;
    *probe = std::move(probes.front());
    probes.pop_front();
    return true;
  }
};

FileProber::FileProber(EventLoop* loop, Answer answer)
    : loop_(loop), shared_(std::make_shared<Shared>()) {
  shared_->answer = std::move(answer);
  const MutexLock lock(shared_->mu);
  shared_->loop = loop;
}

FileProber::~FileProber() {
  if (retry_timer_ != 0) loop_->CancelTimer(retry_timer_);
  shared_->answer = nullptr;
  const MutexLock lock(shared_->mu);
  shared_->loop = nullptr;
  shared_->changed.NotifyOne();
}

// Serves probes until the prober is destroyed. The lock makes a destructor wait
// until the answer has been posted.
void FileProber::Serve(const std::shared_ptr<Shared>& shared) {
  Probe next;
  while (shared->Take(&next)) {
    const FileState state = StateOf(next.path);
    const MutexLock lock(shared->mu);
    if (shared->loop == nullptr) return;
    shared->loop->Post([shared, monitor = next.monitor, state] {
      if (shared->answer) shared->answer(monitor, state);
    });
  }
}

void FileProber::Look(Probe probe) {
  {
    const MutexLock lock(shared_->mu);
    shared_->probes.push_back(std::move(probe));
    shared_->changed.NotifyOne();
  }
  if (retry_timer_ == 0) Start();
}

// Starts the thread unless it runs. If the system refuses it, the probes wait.
void FileProber::Start() {
  if (shared_->is_running) return;
  Result<std::thread> thread =
      StartThread([shared = shared_] { Serve(shared); });
  shared_->is_running = thread.ok();
  if (thread.ok()) return thread->detach();
  retry_timer_ = loop_->AddTimer(kRetryNs, [this] {
    retry_timer_ = 0;
    Start();
  });
}

}  // namespace canopy::monitor
