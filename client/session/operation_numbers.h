// The numbers by which requests of the local protocol name what they ask for.
#ifndef CANOPY_CLIENT_SESSION_OPERATION_NUMBERS_H_
#define CANOPY_CLIENT_SESSION_OPERATION_NUMBERS_H_

#include <cstdint>

namespace canopy::client {

// Of kCollective and kGroup, as core::CollectiveOp.
enum class CollectiveOperation : uint64_t {
  kFence = 1,
  kConnect = 2,
  kDisconnect = 3,
  kGroupConstruct = 4,
  kGroupDestruct = 5,
};

// Of kGroupCall, as core::GroupCallArrived::Call.
enum class GroupCall : uint64_t { kInvite = 1, kJoin = 2, kLeave = 3 };

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_OPERATION_NUMBERS_H_
