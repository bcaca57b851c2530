// Between the project's Status, whose codes are those of PMIx, and those of
// Abseil and gRPC, whose codes are the same numbers as each other's.
#ifndef CANOPY_SERVER_RPC_STATUS_H_
#define CANOPY_SERVER_RPC_STATUS_H_

#include <absl/status/status.h>
#include <grpcpp/support/status.h>

#include "common/status.h"

namespace canopy::rpc {

// Any thread. The message stays; a code without a counterpart becomes
// absl::StatusCode::kUnknown, and kErrServerFailedRequest the other way.
absl::Status ToAbsl(const Status& status);
Status FromAbsl(const absl::Status& status);
grpc::Status ToGrpc(const absl::Status& status);

}  // namespace canopy::rpc

#endif  // CANOPY_SERVER_RPC_STATUS_H_
