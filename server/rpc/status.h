// Converts between the project's Status, whose codes are those of PMIx, and the
// statuses of Abseil and gRPC, which have the same numbers.
#ifndef CANOPY_SERVER_RPC_STATUS_H_
#define CANOPY_SERVER_RPC_STATUS_H_

#include <absl/status/status.h>
#include <grpcpp/support/status.h>

#include "common/status.h"

namespace canopy::rpc {

// Convert a status and keep its message. A code without a counterpart becomes
// absl::StatusCode::kUnknown, or kErrServerFailedRequest in the other
// direction. Any thread.
absl::Status ToAbsl(const Status& status);
Status FromAbsl(const absl::Status& status);
grpc::Status ToGrpc(const absl::Status& status);

}  // namespace canopy::rpc

#endif  // CANOPY_SERVER_RPC_STATUS_H_
