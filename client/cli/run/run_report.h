// Presents the job to the user of `canopy run`: its output, its map and its
// progress.
#ifndef CANOPY_CLIENT_CLI_RUN_RUN_REPORT_H_
#define CANOPY_CLIENT_CLI_RUN_RUN_REPORT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>

#include "client/cli/base/json.h"
#include "client/cli/base/progress_line.h"
#include "client/cli/base/timeline.h"
#include "client/cli/options/run_options.h"
#include "client/cli/run/job_output.h"
#include "client/cli/run/run_client.h"
#include "common/mutex.h"
#include "common/status.h"
#include "protos/control.pb.h"

namespace canopy::cli {

// Thread-safe. `timeline` must outlive this object.
class RunReport : public RunObserver {
 public:
  // The job's output is written to `output_fd`, the descriptor of a file, or
  // with -1 to the standard streams.
  RunReport(const RunOptions& options, Timeline* timeline, int output_fd = -1);

  // Called when the name of the requested job is known, and again when the name
  // changes or the job is mapped; `mapped` is null while the job is queued.
  using OnKnown = std::function<void(const std::string& nspace,
                                     const control::v1::JobMapped* mapped)>;
  // Sets the function that gets the name of the job. Called before the report
  // is used.
  void set_on_known(OnKnown on_known) { on_known_ = std::move(on_known); }
  // Sets a function that is called with the name of the requested job when all
  // its processes run. Called before the report is used.
  void set_on_running(std::function<void(const std::string&)> on_running) {
    on_running_ = std::move(on_running);
  }
  // Sets a function that OnTick calls. It returns the time until its next call
  // in milliseconds, or -1 if no call is due before the job's next event.
  void set_on_tick(std::function<int()> on_tick) {
    on_tick_ = std::move(on_tick);
  }
  // Called when a spawned job is mapped, and when it is over.
  struct SpawnedWatch {
    std::function<void(const control::v1::JobMapped&)> on_mapped;
    std::function<void(const control::v1::SpawnedEnd&)> on_end;
  };
  // Sets the functions for spawned jobs. Called before the report is used.
  void set_spawned_watch(SpawnedWatch watch) {
    spawned_watch_ = std::move(watch);
  }
  // Prints the reason why the job is queued, but only the first one.
  void OnQueued(const control::v1::JobQueued& queued) override;
  void OnRequeued(const control::v1::JobRequeued& requeued) override;
  void OnMapped(const control::v1::JobMapped& mapped) override;
  // Prints the reason why the job has failed, unless its end was requested or
  // caused by another job.
  void OnSpawnedEnd(const control::v1::SpawnedEnd& ended) override;
  void OnNotice(const std::string& text) override;
  void OnProgress(const control::v1::Progress& progress) override;
  void OnProgramNotes(const control::v1::ProgramNotes& notes) override;
  OutputFate OnOutput(const control::v1::Output& output) override;
  int OnTick() override;

  // Returns true if this line about a spawned job has been printed.
  bool has_said(const std::string& line) const;
  // Writes all held output and erases the progress line.
  void Finish();
  // Returns the name of the requested job; empty if it is not known yet.
  std::string nspace() const;
  // Returns the document of -o json for a job with this end.
  Json Document(const control::v1::JobEnd& end) const;
  // See JobOutput::trouble.
  std::string trouble() const;
  // Returns true if a program kept its own PMIx library and the user was
  // notified.
  bool has_own_library() const;
  // Returns true if the job's standard error contained a message of the dynamic
  // loader.
  bool saw_loader_error() const;

 private:
  Status SetUpOutput(const control::v1::JobMapped& mapped)
      CANOPY_REQUIRES(mutex_);
  void ShowMap(const control::v1::JobMapped& mapped) CANOPY_REQUIRES(mutex_);
  void SayFailure(const control::v1::SpawnedEnd& ended) CANOPY_REQUIRES(mutex_);
  void Print(int fd, const std::string& text) CANOPY_REQUIRES(mutex_);

  OnKnown on_known_;
  std::function<void(const std::string&)> on_running_;
  std::function<int()> on_tick_;
  SpawnedWatch spawned_watch_;
  const bool display_map_;
  const bool display_allocation_;
  const bool display_topology_;
  const bool report_bindings_;
  const bool json_;
  const bool quiet_;
  const bool merges_stderr_;
  const std::string cpu_list_;
  Timeline* const timeline_;
  mutable Mutex mutex_;
  JobOutput output_ CANOPY_GUARDED_BY(mutex_);
  ProgressLine progress_ CANOPY_GUARDED_BY(mutex_);
  std::string nspace_ CANOPY_GUARDED_BY(mutex_);
  // Numbers of the spawned jobs, by namespace.
  std::map<std::string, uint32_t> spawned_ CANOPY_GUARDED_BY(mutex_);
  uint32_t last_spawned_ CANOPY_GUARDED_BY(mutex_) = 0;
  // Hashes of the lines that report failures of spawned jobs and have been
  // printed.
  std::unordered_set<size_t> said_ CANOPY_GUARDED_BY(mutex_);
  size_t num_nodes_ CANOPY_GUARDED_BY(mutex_) = 0;
  bool has_own_library_ CANOPY_GUARDED_BY(mutex_) = false;
  bool saw_loader_error_ CANOPY_GUARDED_BY(mutex_) = false;
  // The parts of the JSON document (-o json).
  Json maps_ CANOPY_GUARDED_BY(mutex_) = Json::array();
  Json notes_ CANOPY_GUARDED_BY(mutex_) = Json::array();
  Json failures_ CANOPY_GUARDED_BY(mutex_) = Json::array();
  std::string setup_trouble_ CANOPY_GUARDED_BY(mutex_);
  bool said_queued_ CANOPY_GUARDED_BY(mutex_) = false;
  bool running_ CANOPY_GUARDED_BY(mutex_) = false;
  // True if OnTick will be called for the output.
  bool ticking_ CANOPY_GUARDED_BY(mutex_) = false;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_RUN_REPORT_H_
