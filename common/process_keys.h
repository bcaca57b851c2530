// The reserved keys that are not known from the start, because only a process
// or its agent can tell their values (PMIx Standard, chapter "Reserved Keys",
// process realm).
#ifndef CANOPY_COMMON_PROCESS_KEYS_H_
#define CANOPY_COMMON_PROCESS_KEYS_H_

#include <string_view>

namespace canopy {

inline constexpr std::string_view kPidKey = "pmix.ppid";  // PMIX_PROC_PID
inline constexpr std::string_view kExitCodeKey =
    "pmix.exit.code";  // PMIX_EXIT_CODE

// Known to the agent of a process alone. They are asked for one by one, and are
// in no segment, as what was true of a process need not be true later.
inline constexpr bool IsProcessFact(std::string_view key) {
  return key == kPidKey || key == kExitCodeKey;
}

// Told by the process itself, with PMIx_Put or among what it shares with a group,
// and stored with its other data: PMIX_GROUP_LOCAL_CID.
inline constexpr bool IsOfProcess(std::string_view key) {
  return key == "pmix.grp.lclid";
}

}  // namespace canopy

#endif  // CANOPY_COMMON_PROCESS_KEYS_H_
