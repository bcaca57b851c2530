// What the core gets to know about a job's local ranks: their starts, output
// and exits.
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

// Each process of a rank gets one exit. Loop thread only; everything goes to
// the context's sink and environments.
class RankReports {
 public:
  struct Process {
    int pid = 0;  // 0: not known
    uint32_t incarnation = 0;
  };
  using Unreported = std::unordered_map<Rank, Process>;

  explicit RankReports(const ProcessContext* context) : context_(context) {}

  // Before anything else. `ranks`: those without an exit so far.
  void Begin(const std::string& nspace, bool merge_stderr, Unreported ranks);
  bool empty() const { return unreported_.empty(); }

  // All of them are being started.
  void ReportStarting();
  void ReportStarted(const Started& started);
  // 0: all is well, without a process.
  void ReportStart(int status, const std::string& text);
  // The rank, whose last process has an exit, gets another one.
  void Await(Rank rank, uint32_t incarnation);
  void ReportRestarted(const Started& started);
  // That process can not be: as if it had been killed.
  void ReportNoProcess(Rank rank);
  // To the environments alone.
  void ReportProcesses(const std::vector<StartedRank>& ranks);

  // False for payloads that make no sense.
  bool ReportOutput(std::string_view payload);
  bool ReportExits(std::string_view payload);
  // The output comes again from this byte on.
  void SetOutputPosition(uint64_t position) { output_end_ = position; }

  // The shim is lost, and its pipes are dead: streams end, perhaps once more,
  // and what has no exit was killed.
  void ReportLoss(const std::vector<Rank>& local_ranks);

  // Processes, as far as known, of ranks without an exit; each leads a group.
  std::unordered_set<int> Groups() const;

 private:
  void NoteProcesses(const Started& started);

  const ProcessContext* const context_;
  std::string nspace_;
  bool merge_stderr_ = false;
  Unreported unreported_;
  uint64_t output_end_ = 0;  // position of what was reported last
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_RANK_REPORTS_H_
