// Names of attributes in the results and events of process groups (PMIx
// Standard, chapter "Process Sets and Groups").
#ifndef CANOPY_SERVER_CORE_STEP_GROUP_KEYS_H_
#define CANOPY_SERVER_CORE_STEP_GROUP_KEYS_H_

namespace canopy::core {

// PMIX_GROUP_ID
inline constexpr char kGroupIdKey[] = "pmix.grp.id";
// PMIX_GROUP_MEMBERSHIP
inline constexpr char kGroupMembershipKey[] = "pmix.grp.mbrs";
// PMIX_GROUP_CONTEXT_ID
inline constexpr char kGroupContextIdKey[] = "pmix.grp.ctxid";
// PMIX_EVENT_AFFECTED_PROC
inline constexpr char kAffectedProcKey[] = "pmix.evproc";

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_GROUP_KEYS_H_
