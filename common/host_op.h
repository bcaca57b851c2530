// The operations that processes can request from the host.
#ifndef CANOPY_COMMON_HOST_OP_H_
#define CANOPY_COMMON_HOST_OP_H_

#include <cstdint>

namespace canopy {

// The local protocol and the overlay's protocol use these numbers.
enum class HostOp : uint8_t {
  kJobControl = 1,
  kAllocate = 2,
  kMonitor = 3,
  kLog = 4,
  kControlSession = 5,
  kBlockResources = 6,
  kGetCredential = 7,
  kValidateCredential = 8,
  // PMIx_Query_info. The agent that answers the query uses it internally; it is
  // in neither protocol.
  kQuery = 9,
  // PMIx_IOF_pull and PMIx_IOF_push, which the agent that controls the job
  // answers (common/iof_call.h).
  kReadOutput = 10,
  kPushInput = 11,
  // PMIx_Fabric_register and PMIx_Fabric_update (common/host_call.h). It is
  // in the local protocol only.
  kFabric = 12,
};

// The operation with the highest number among those that a host decides.
inline constexpr HostOp kLastHostOp = HostOp::kValidateCredential;

// Returns true if the operation is in both protocols.
constexpr bool IsHostOp(HostOp op) {
  return op >= HostOp::kJobControl && op <= HostOp::kPushInput &&
         op != HostOp::kQuery;
}

}  // namespace canopy

#endif  // CANOPY_COMMON_HOST_OP_H_
