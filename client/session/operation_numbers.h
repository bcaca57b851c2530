// The numbers of operations in requests of the local protocol.
#ifndef CANOPY_CLIENT_SESSION_OPERATION_NUMBERS_H_
#define CANOPY_CLIENT_SESSION_OPERATION_NUMBERS_H_

#include <cstdint>

namespace canopy::client {

// The operations of kCollective and kGroup; equal to core::CollectiveOp.
enum class CollectiveOperation : uint64_t {
  kFence = 1,
  kConnect = 2,
  kDisconnect = 3,
  kGroupConstruct = 4,
  kGroupDestruct = 5,
};

// The calls of kGroupCall; equal to core::GroupCallArrived::Call.
enum class GroupCall : uint64_t { kInvite = 1, kJoin = 2, kLeave = 3 };

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_OPERATION_NUMBERS_H_
