// What the user of `canopy run` sees of the job: its output, its map, progress.
#ifndef CANOPY_CLIENT_CLI_RUN_REPORT_H_
#define CANOPY_CLIENT_CLI_RUN_REPORT_H_

#include <mutex>
#include <string>

#include "client/cli/job_output.h"
#include "client/cli/progress_line.h"
#include "client/cli/run_client.h"
#include "client/cli/run_options.h"
#include "client/cli/timeline.h"

namespace canopy::cli {

// Thread-safe. `timeline` outlives it.
class RunReport : public RunObserver {
 public:
  RunReport(const RunOptions& options, Timeline* timeline);

  void OnMapped(const control::v1::JobMapped& mapped) override;
  void OnProgress(const control::v1::Progress& progress) override;
  void OnProgramNotes(const control::v1::ProgramNotes& notes) override;
  OutputFate OnOutput(const control::v1::Output& output) override;
  int OnTick() override;

  // Everything that is held goes out; the progress line goes away.
  void Finish();
  std::string nspace() const;
  // See JobOutput::trouble.
  std::string trouble() const;
  // Some program was left its own PMIx library, and the user told so.
  bool has_own_library() const;
  // Its standard error had words of the dynamic loader.
  bool saw_loader_error() const;

 private:
  void Print(int fd, const std::string& text);

  const bool display_map_;
  const bool display_allocation_;
  const bool report_bindings_;
  const bool json_;
  const bool quiet_;
  const bool merges_stderr_;
  Timeline* const timeline_;
  mutable std::mutex mutex_;
  JobOutput output_;
  ProgressLine progress_;
  std::string nspace_;
  size_t num_nodes_ = 0;
  bool has_own_library_ = false;
  bool saw_loader_error_ = false;
  std::string setup_trouble_;
  bool running_ = false;
  bool ticking_ = false;  // OnTick will be called for the output
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_REPORT_H_
