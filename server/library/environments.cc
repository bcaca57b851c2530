#include "server/library/environments.h"

#include <pthread.h>

#include <utility>

namespace canopy::library {
namespace {

// The mutex is locked while the process forks, so that no other thread holds it
// in the child, where that thread does not exist.
Mutex* g_held = nullptr;

void BeforeFork() CANOPY_NO_THREAD_SAFETY_ANALYSIS { g_held->Lock(); }
void AfterFork() CANOPY_NO_THREAD_SAFETY_ANALYSIS { g_held->Unlock(); }

}  // namespace

Environments::Environments() {
  g_held = &mutex_;
  (void)pthread_atfork(BeforeFork, AfterFork, AfterFork);
}

// The object is never destroyed, because the process may fork at any time.
Environments& Environments::OfProcess() {
  static auto* const environments = new Environments;
  return *environments;
}

void Environments::SetJob(const std::string& nspace, Entries entries) {
  const MutexLock lock(mutex_);
  jobs_[nspace].entries = std::move(entries);
}

void Environments::SetRank(const ProcId& proc, Entries entries) {
  const MutexLock lock(mutex_);
  jobs_[proc.nspace].ranks[proc.rank] = std::move(entries);
}

void Environments::Drop(const std::string& nspace) {
  const MutexLock lock(mutex_);
  jobs_.erase(nspace);
}

void Environments::Clear() {
  const MutexLock lock(mutex_);
  jobs_.clear();
}

Environments::Entries Environments::Of(const ProcId& proc) {
  const MutexLock lock(mutex_);
  const auto job = jobs_.find(proc.nspace);
  if (job == jobs_.end()) return {};
  const auto rank = job->second.ranks.find(proc.rank);
  if (rank == job->second.ranks.end()) return {};
  Entries entries = job->second.entries;
  entries.insert(entries.end(), rank->second.begin(), rank->second.end());
  return entries;
}

}  // namespace canopy::library
