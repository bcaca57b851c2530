// Codes and keys of the events of process sets.
#ifndef CANOPY_SERVER_CORE_PSET_SET_KEYS_H_
#define CANOPY_SERVER_CORE_PSET_SET_KEYS_H_

namespace canopy::core {

inline constexpr int kSetDefine = -55;  // PMIX_PROCESS_SET_DEFINE
inline constexpr int kSetDelete = -56;  // PMIX_PROCESS_SET_DELETE

inline constexpr char kSetNameKey[] = "pmix.pset.nm";       // PMIX_PSET_NAME
inline constexpr char kSetMembersKey[] = "pmix.pset.mems";  // ..._MEMBERS

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_PSET_SET_KEYS_H_
