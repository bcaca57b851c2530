// The reserved keys that only the agent of a process knows, and not from the
// start: they are asked for one by one, and are in no segment, as what was true
// of a process need not be true later (PMIx Standard, chapter "Reserved Keys",
// process realm).
#ifndef CANOPY_COMMON_PROCESS_KEYS_H_
#define CANOPY_COMMON_PROCESS_KEYS_H_

#include <string_view>

namespace canopy {

inline constexpr std::string_view kPidKey = "pmix.ppid";  // PMIX_PROC_PID
inline constexpr std::string_view kExitCodeKey =
    "pmix.exit.code";  // PMIX_EXIT_CODE

inline constexpr bool IsProcessFact(std::string_view key) {
  return key == kPidKey || key == kExitCodeKey;
}

}  // namespace canopy

#endif  // CANOPY_COMMON_PROCESS_KEYS_H_
