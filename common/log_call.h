// What our library adds to a call of PMIx_Log.
#ifndef CANOPY_COMMON_LOG_CALL_H_
#define CANOPY_COMMON_LOG_CALL_H_

namespace canopy {

// Among the directives, an unsigned number that no other call of the process
// has: by it a text that was resent to a successor of the agent is recognised.
inline constexpr char kLogNumber[] = "canopy.log.number";

}  // namespace canopy

#endif  // CANOPY_COMMON_LOG_CALL_H_
