#include "server/rpc/status.h"

#include <string>

namespace canopy::rpc {
namespace {

struct Pair {
  int code;
  absl::StatusCode absl;
};

// Pairs of codes. If a code is in several pairs, the first is used.
constexpr Pair kPairs[] = {
    {kErrUnreach, absl::StatusCode::kUnavailable},
    {kErrNotSupported, absl::StatusCode::kFailedPrecondition},
    {kErrBadParam, absl::StatusCode::kInvalidArgument},
    {kErrNotFound, absl::StatusCode::kNotFound},
    {kErrExists, absl::StatusCode::kAlreadyExists},
    {kErrNoPermissions, absl::StatusCode::kPermissionDenied},
    {kErrInvalidCred, absl::StatusCode::kUnauthenticated},
    {kErrOutOfResource, absl::StatusCode::kResourceExhausted},
    {kErrTimeout, absl::StatusCode::kDeadlineExceeded},
    {kErrServerFailedRequest, absl::StatusCode::kInternal},
};

}  // namespace

absl::Status ToAbsl(const Status& status) {
  if (status.ok()) return absl::OkStatus();
  for (const Pair& pair : kPairs) {
    if (pair.code == status.code()) {
      return absl::Status(pair.absl, status.message());
    }
  }
  return absl::UnknownError(status.message());
}

Status FromAbsl(const absl::Status& status) {
  if (status.ok()) return Status();
  const std::string message(status.message());
  for (const Pair& pair : kPairs) {
    if (pair.absl == status.code()) return Status(pair.code, message);
  }
  return Status(kErrServerFailedRequest, message);
}

grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.raw_code()),
                      std::string(status.message()));
}

}  // namespace canopy::rpc
