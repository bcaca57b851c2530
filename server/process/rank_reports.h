// Reports about a job's local ranks to the core: starts, output and exits.
#ifndef CANOPY_SERVER_PROCESS_RANK_REPORTS_H_
#define CANOPY_SERVER_PROCESS_RANK_REPORTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "common/ids.h"
#include "server/process/process_context.h"
#include "server/shim/protocol.h"

namespace canopy::process {

// Each process of a rank gets one exit. All reports go to the context's sink
// and environments. Loop thread only.
class RankReports {
 public:
  struct Process {
    int pid = 0;  // 0: unknown
    uint32_t incarnation = 0;
  };
  using Unreported = std::unordered_map<Rank, Process>;

  explicit RankReports(const ProcessContext* context) : context_(context) {}

  // Sets the job. Called before any other function. With `merge_stderr`, the
  // job has no output on standard error. `ranks` are the ranks without an exit.
  void Begin(const std::string& nspace, bool merge_stderr, Unreported ranks);
  bool empty() const { return unreported_.empty(); }
  // Called after Begin for a shim in a pod, which the pod's owner may have
  // replaced. Reports of other ranks than those of Begin, and output, break the
  // protocol from now on; processes are reported without their PIDs, which mean
  // nothing here, or other processes.
  void Distrust();

  // Reports that all ranks are being started.
  void ReportStarting();
  // Returns false if the report breaks the protocol.
  bool ReportStarted(Started started);
  // Reports a start that has created no processes, because it has failed or,
  // with status 0, because the job has no local ranks.
  void ReportStart(int status, const std::string& text);
  // Expects another process of a rank whose last process has an exit.
  void Await(Rank rank, uint32_t incarnation);
  // Returns false if the report breaks the protocol.
  bool ReportRestarted(Started started);
  // Reports that the new process of a rank cannot be started, as if it had been
  // killed.
  void ReportNoProcess(Rank rank);
  // Reports processes to the environments, but not to the sink.
  void ReportProcesses(const std::vector<StartedRank>& ranks);

  // These functions return false for a malformed payload.
  bool ReportOutput(std::string_view payload);
  bool ReportExits(std::string_view payload);
  // Returns the position, in bytes, of the end of the reported output.
  uint64_t output_end() const { return output_end_; }
  // Sets the position, in bytes, from which the output is repeated.
  void SetOutputPosition(uint64_t position) { output_end_ = position; }

  // Reports the loss of the shim, whose pipes are broken: all streams end, even
  // if their end was reported before, and all ranks without an exit count as
  // killed.
  void ReportLoss(const std::vector<Rank>& local_ranks);

  // Returns the process ids of ranks without an exit; each such process leads a
  // group.
  std::unordered_set<int> Groups() const;

 private:
  bool MayReport(Started* started) const;
  void NoteProcesses(const Started& started);

  const ProcessContext* const context_;
  std::string nspace_;
  bool merge_stderr_ = false;
  bool distrusts_ = false;
  std::unordered_set<Rank> own_;  // all ranks, if the shim is distrusted
  Unreported unreported_;
  uint64_t output_end_ = 0;  // position of the end of the last reported output
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_RANK_REPORTS_H_
