// Records the job of this launcher, and the jobs that it spawns, in the
// history.
#ifndef CANOPY_CLIENT_CLI_HISTORY_JOB_RECORDER_H_
#define CANOPY_CLIENT_CLI_HISTORY_JOB_RECORDER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "client/cli/history/history_store.h"
#include "common/mutex.h"

namespace canopy::cli {

struct JobPlace {
  int64_t num_procs = 0;
  int64_t num_nodes = 0;
  std::string nodes;  // names, separated by commas
};

// A job that a program of the launcher's job has spawned, directly or not.
struct SpawnedJob {
  std::string job;
  std::string parent;
  std::string command;
  JobPlace place;
};

// Stores the entry when the job has a name, and again with its end, so that the
// entry exists even if the launcher is killed. A history that cannot be written
// causes one warning and never affects the job. Spawned jobs have entries of
// their own, which are stored when they end. Thread-safe.
class JobRecorder {
 public:
  // The number of spawned jobs that are recorded; later ones have no entry.
  static constexpr size_t kMaxSpawned = 1000;

  using Warn = std::function<void(const std::string& text)>;

  // `entry` contains the data that is known before the job has a name.
  JobRecorder(HistoryStore store, HistoryEntry entry, Warn warn)
      : store_(std::move(store)),
        warn_(std::move(warn)),
        entry_(std::move(entry)) {}

  // Sets the file of the job's output. Called before the job has a name.
  void set_output(const std::string& path);
  // Records the name of a job that is queued, unless a name is known already.
  void Queued(const std::string& job);
  // Records where the job runs. A job that was requeued has a new name.
  void Mapped(const std::string& job, const JobPlace& place);
  // Records the end of a job; has no effect if the job has no name. `reason` is
  // empty if the job has not failed.
  void Ended(int exit_code, const std::string& reason);

  // Notes a spawned job that is about to start. A job that is known already is
  // left unchanged.
  void Spawned(const SpawnedJob& spawned);
  // Records the end of a spawned job; has no effect if the job is unknown.
  void SpawnedEnded(const std::string& job, int exit_code,
                    const std::string& reason);

 private:
  void SetName(const std::string& job) CANOPY_REQUIRES(mutex_);
  void Store(HistoryEntry* entry) CANOPY_REQUIRES(mutex_);

  const HistoryStore store_;
  const Warn warn_;
  Mutex mutex_;
  std::optional<SqlDatabase> database_ CANOPY_GUARDED_BY(mutex_);  // once used
  HistoryEntry entry_ CANOPY_GUARDED_BY(mutex_);
  // The spawned jobs that have not ended, by name, and the number of all
  // spawned jobs.
  std::map<std::string, HistoryEntry> spawned_ CANOPY_GUARDED_BY(mutex_);
  size_t num_spawned_ CANOPY_GUARDED_BY(mutex_) = 0;
  bool fails_ CANOPY_GUARDED_BY(mutex_) = false;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_HISTORY_JOB_RECORDER_H_
