#include "server/cleanup/removal_threads.h"

#include <deque>
#include <map>
#include <thread>
#include <utility>

#include "common/mutex.h"
#include "common/posix/signal_block.h"
#include "common/posix/start_thread.h"
#include "common/thread_annotations.h"

namespace canopy::cleanup {
namespace {

using Clock = std::chrono::steady_clock;

// Returns false if the system allows no further thread.
bool StartDetached(std::function<void()> body) {
  const SignalBlock block;
  Result<std::thread> thread = StartThread(std::move(body));
  if (thread.ok()) thread->detach();
  return thread.ok();
}

}  // namespace

struct RemovalThreads::State {
  Mutex mutex;
  CondVar changed;
  // The unfinished work of each job; for some jobs a thread is executing the
  // first entry.
  std::map<std::string, std::deque<Work>> left CANOPY_GUARDED_BY(mutex);
  std::deque<std::string> waiting CANOPY_GUARDED_BY(mutex);  // jobs
  size_t threads CANOPY_GUARDED_BY(mutex) = 0;
};

RemovalThreads::RemovalThreads(const RemovalLimits& limits)
    : limits_(limits), state_(std::make_shared<State>()) {}

RemovalThreads::~RemovalThreads() {
  const Clock::time_point end = Clock::now() + limits_.end_wait;
  MutexLock lock(state_->mutex);
  while (!state_->left.empty()) {
    if (!state_->changed.WaitUntil(state_->mutex, end)) return;
  }
}

// Does the work of one job, and then of jobs that wait for a thread.
void RemovalThreads::Serve(const std::shared_ptr<State>& state,
                           std::string job) {
  MutexLock lock(state->mutex);
  for (;;) {
    std::deque<Work>& left = state->left[job];
    Work& first = left.front();
    state->mutex.Unlock();
    first();
    state->mutex.Lock();
    left.pop_front();
    if (left.empty()) {
      state->left.erase(job);
      state->changed.NotifyAll();
      if (state->waiting.empty()) break;
      job = std::move(state->waiting.front());
      state->waiting.pop_front();
    }
  }
  --state->threads;
}

void RemovalThreads::Run(const std::string& job, Work work) {
  const Clock::time_point end = Clock::now() + limits_.wait;
  MutexLock lock(state_->mutex);
  std::deque<Work>& left = state_->left[job];
  left.push_back(std::move(work));
  if (left.size() > 1) return;
  if (state_->threads == limits_.threads) {
    state_->waiting.push_back(job);
    return;
  }
  ++state_->threads;
  if (!StartDetached([state = state_, job] { Serve(state, job); })) {
    state_->mutex.Unlock();
    Serve(state_, job);
    state_->mutex.Lock();
    return;
  }
  while (state_->left.contains(job)) {
    if (!state_->changed.WaitUntil(state_->mutex, end)) return;
  }
}

}  // namespace canopy::cleanup
