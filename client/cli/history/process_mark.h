// Identifies a process beyond the reuse of its PID, so that another process can
// find out whether it still runs.
#ifndef CANOPY_CLIENT_CLI_HISTORY_PROCESS_MARK_H_
#define CANOPY_CLIENT_CLI_HISTORY_PROCESS_MARK_H_

#include <compare>
#include <cstdint>
#include <string>

namespace canopy::cli {

struct ProcessMark {
  std::string host;
  std::string boot;  // the boot of that machine (common/posix/boot_id.h)
  int64_t pid = 0;
  int64_t start = 0;  // clock ticks between that boot and its start

  auto operator<=>(const ProcessMark&) const = default;
};

ProcessMark MarkOfThisProcess();

enum class ProcessState {
  kRuns,
  kEnded,
  kElsewhere,  // it is a process of another machine
};
ProcessState StateOf(const ProcessMark& mark);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_HISTORY_PROCESS_MARK_H_
