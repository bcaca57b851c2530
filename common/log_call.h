// The key that the library adds to a call of PMIx_Log.
#ifndef CANOPY_COMMON_LOG_CALL_H_
#define CANOPY_COMMON_LOG_CALL_H_

namespace canopy {

// A directive with an unsigned number that no other call of the process has.
// The number identifies a text that was resent to a successor of the agent.
inline constexpr char kLogNumber[] = "canopy.log.number";

}  // namespace canopy

#endif  // CANOPY_COMMON_LOG_CALL_H_
