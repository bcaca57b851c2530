// Identifies a process even after its PID is reused, so that another process
// can find out whether it still runs.
#ifndef CANOPY_CLIENT_CLI_HISTORY_PROCESS_MARK_H_
#define CANOPY_CLIENT_CLI_HISTORY_PROCESS_MARK_H_

#include <compare>
#include <cstdint>
#include <string>

namespace canopy::cli {

struct ProcessMark {
  std::string host;
  std::string boot;  // identifies the boot (common/posix/boot_id.h)
  int64_t pid = 0;
  int64_t start = 0;  // start of the process, in clock ticks since that boot

  auto operator<=>(const ProcessMark&) const = default;
};

ProcessMark MarkOfThisProcess();

enum class ProcessState {
  kRuns,
  kEnded,
  kElsewhere,  // the process belongs to another machine
};
// Returns the state of the marked process. A zombie has ended.
ProcessState StateOf(const ProcessMark& mark);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_HISTORY_PROCESS_MARK_H_
