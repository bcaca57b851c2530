// The reserved keys whose values only a process or its agent can know, and only
// while the process runs (PMIx Standard, chapter "Reserved Keys", process
// realm).
#ifndef CANOPY_COMMON_PROCESS_KEYS_H_
#define CANOPY_COMMON_PROCESS_KEYS_H_

#include <string_view>

namespace canopy {

inline constexpr std::string_view kPidKey = "pmix.ppid";  // PMIX_PROC_PID
inline constexpr std::string_view kExitCodeKey =
    "pmix.exit.code";  // PMIX_EXIT_CODE

// Returns true for keys that only the agent of the process knows. Each such key
// is requested by itself and is in no segment, because its value may change.
inline constexpr bool IsProcessFact(std::string_view key) {
  return key == kPidKey || key == kExitCodeKey;
}

// Returns true for keys that the process itself provides, with PMIx_Put or in
// the data that it shares with a group, and that are stored with its other
// data: PMIX_GROUP_LOCAL_CID.
inline constexpr bool IsOfProcess(std::string_view key) {
  return key == "pmix.grp.lclid";
}

}  // namespace canopy

#endif  // CANOPY_COMMON_PROCESS_KEYS_H_
