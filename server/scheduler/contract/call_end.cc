#include "server/scheduler/contract/call_end.h"

#include <algorithm>
#include <utility>

#include "client/include/pmix_tables.h"
#include "common/time_units.h"
#include "common/wording/transport_text.h"
#include "protos/canopy/hostmodule/v1/error_details.pb.h"
#include "server/scheduler/contract/line.h"

namespace canopy::scheduler {
namespace {

namespace v1 = hostmodule::v1;

// gRPC's status codes.
enum Code : int {
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kCodeNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

constexpr char kErrorInfo[] = "/google.rpc.ErrorInfo";
constexpr char kRetryInfo[] = "/google.rpc.RetryInfo";
constexpr char kDomain[] = "pmix.org";
constexpr int64_t kLongestRetrySeconds = 600;

std::optional<int> StatusNamed(const v1::ErrorInfo& info) {
  if (info.domain() != kDomain) return std::nullopt;
  const ConstantEntry* const entry = FindConstant(info.reason());
  if (entry == nullptr || entry->type != "pmix_status_t" || entry->value >= 0) {
    return std::nullopt;
  }
  return static_cast<int>(entry->value);
}

int64_t PauseOf(const v1::RetryInfo& info) {
  const int64_t seconds = std::clamp<int64_t>(info.retry_delay().seconds(), 0,
                                              kLongestRetrySeconds);
  const int64_t nanos =
      std::clamp<int64_t>(info.retry_delay().nanos(), 0, kNsPerSecond - 1);
  return std::min(seconds * kNsPerSecond + nanos,
                  kLongestRetrySeconds * kNsPerSecond);
}

void ReadDetail(const google::protobuf::Any& detail, CallEnd* end) {
  v1::ErrorInfo error;
  v1::RetryInfo retry;
  if (detail.type_url().ends_with(kErrorInfo) &&
      error.ParseFromString(detail.value())) {
    end->pmix_status = StatusNamed(error);
  } else if (detail.type_url().ends_with(kRetryInfo) &&
             retry.ParseFromString(detail.value())) {
    end->retry_ns = PauseOf(retry);
  }
}

int StatusOfCode(int code) {
  switch (code) {
    case kInvalidArgument:
    case kOutOfRange:
      return kErrBadParam;
    case kCodeNotFound:
      return kErrNotFound;
    case kAlreadyExists:
      return kErrExists;
    case kPermissionDenied:
    case kUnauthenticated:
      return kErrNoPermissions;
    case kFailedPrecondition:
      return kErrInvalidOperation;
    case kUnimplemented:
      return kErrNotSupported;
    case kResourceExhausted:
      return kErrOutOfResource;
    case kDeadlineExceeded:
      return kErrTimeout;
    default:
      return kErrServerFailedRequest;
  }
}

}  // namespace

bool CallEnd::passes() const {
  if (ok() || pmix_status) return false;
  return gone() || code == kAborted || retry_ns.has_value();
}

bool CallEnd::leaves_undecided() const {
  if (ok() || pmix_status) return false;
  return passes() || code == kUnknown || code == kDeadlineExceeded ||
         code == kResourceExhausted || code == kInternal || code == kDataLoss;
}

CallEnd EndOf(int code, const std::string& message,
              const std::string& details) {
  CallEnd end{code, TransportText(message)};
  v1::Status status;
  if (end.ok() || details.empty() || !status.ParseFromString(details)) {
    return end;
  }
  for (const google::protobuf::Any& detail : status.details()) {
    ReadDetail(detail, &end);
  }
  return end;
}

Status StatusOf(const CallEnd& end) {
  return {end.pmix_status.value_or(StatusOfCode(end.code)),
          LineOf(end.message)};
}

}  // namespace canopy::scheduler
