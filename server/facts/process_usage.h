// Statistics of the resources that a process uses.
#ifndef CANOPY_SERVER_FACTS_PROCESS_USAGE_H_
#define CANOPY_SERVER_FACTS_PROCESS_USAGE_H_

#include <cstdint>
#include <string>

#include "server/facts/proc_file.h"

namespace canopy::facts {

// The limit of a process's resident memory for PMIX_PROC_PSS. The kernel walks
// all pages of a process to determine this statistic, so it is not read for
// larger processes.
inline constexpr uint64_t kMaxPssBytes = uint64_t{1} << 30;
// Maximum number of bytes of PMIX_CMD_LINE.
inline constexpr size_t kMaxCommandLine = 1024;

// Returns the statistics in codec form (SIZE n, then n INFO), ending with
// PMIX_PROC_SAMPLE_TIME. `fields` are bits of kProcUsage
// (server/core/step/usage_keys.h). A statistic that cannot be read is left out.
// Returns an empty string if there is no such process. Takes about 50
// microseconds, with PMIX_PROC_PSS up to some milliseconds. Thread-safe.
std::string ProcessUsage(int pid, uint64_t fields,
                         const std::string& proc = kProc);

}  // namespace canopy::facts

#endif  // CANOPY_SERVER_FACTS_PROCESS_USAGE_H_
