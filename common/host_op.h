// What processes can ask of the host.
#ifndef CANOPY_COMMON_HOST_OP_H_
#define CANOPY_COMMON_HOST_OP_H_

#include <cstdint>

namespace canopy {

// Numbers of the local protocol and of the overlay's.
enum class HostOp : uint8_t {
  kJobControl = 1,
  kAllocate = 2,
  kMonitor = 3,
  kLog = 4,
  kControlSession = 5,
  kBlockResources = 6,
  kGetCredential = 7,
  kValidateCredential = 8,
  // Of a query, by the agent that answers it: in neither protocol.
  kQuery = 9,
  // PMIx_IOF_pull and PMIx_IOF_push, for the agent that controls the job
  // (common/iof_call.h).
  kReadOutput = 10,
  kPushInput = 11,
  // PMIx_Fabric_register and PMIx_Fabric_update (common/fabric_call.h): of the
  // local protocol alone.
  kFabric = 12,
};

// The last that a host decides.
inline constexpr HostOp kLastHostOp = HostOp::kValidateCredential;

// Whether it is of both protocols.
constexpr bool IsHostOp(HostOp op) {
  return op >= HostOp::kJobControl && op <= HostOp::kPushInput &&
         op != HostOp::kQuery;
}

}  // namespace canopy

#endif  // CANOPY_COMMON_HOST_OP_H_
