// Status and Result: how functions report failure. A code is a PMIx status (0:
// success, negative: an error). The message is one line for a person and, where
// possible, states how to correct the error; it may be empty. Code of the agent
// that uses absl::Status converts it with server/rpc/status.h.
#ifndef CANOPY_COMMON_STATUS_H_
#define CANOPY_COMMON_STATUS_H_

#include <string>
#include <utility>
#include <variant>

namespace canopy {

// PMIx status codes that internal code raises, so that this code need not
// include the public headers. The Standard defines the values.
enum StatusCode : int {
  kSuccess = 0,
  kError = -1,
  kErrProcRestart = -4,
  kErrProcAborted = -7,
  kErrProcRequestedAbort = -8,
  kErrServerFailedRequest = -10,
  kErrExists = -11,
  kErrInvalidCred = -12,
  kErrHandshakeFailed = -13,
  kErrWouldBlock = -15,
  kErrUnknownDataType = -16,
  kErrTypeMismatch = -18,
  kErrUnpackInadequateSpace = -19,
  kErrUnpackFailure = -20,
  kErrPackFailure = -21,
  kErrNoPermissions = -23,
  kErrTimeout = -24,
  kErrUnreach = -25,
  kErrBadParam = -27,
  kErrResourceBusy = -28,
  kErrOutOfResource = -29,
  kErrInit = -31,
  kErrNomem = -32,
  kErrNotFound = -46,
  kErrNotSupported = -47,
  kErrCommFailure = -49,
  kErrUnpackReadPastEnd = -50,
  kErrConflictingCleanupDirectives = -51,
  kErrPartialSuccess = -52,
  kErrDuplicateKey = -53,
  kErrParamValueNotSupported = -59,
  kErrEmpty = -60,
  kErrLostConnection = -61,
  kErrExistsOutsideScope = -62,
  kErrExeNotAccessible = -73,
  kErrJobWdirNotAccessible = -74,
  kErrSysLimitsFiles = -75,
  kErrInvalidTermination = -112,
  kErrJobTerminated = -145,
  kErrInvalidOperation = -158,
  kErrJobAppNotExecutable = -177,
  kErrJobNoExeSpecified = -178,
  kErrJobFailedToMap = -179,
  kErrJobCanceled = -180,
  kErrJobFailedToLaunch = -181,
  kErrJobAborted = -182,
  kErrJobKilledByCmd = -183,
  kErrJobAbortedBySig = -184,
  kErrJobNonZeroTerm = -187,
  kErrJobAllocFailed = -188,
  kErrJobExeNotFound = -190,
  kErrProcTermWoSync = -200,
  kErrNodeDown = -231,
  kErrJobWdirNotFound = -233,
  kErrJobInsufficientResources = -234,
  kErrJobSysOpFailed = -235,
  kErrProcFailedToStart = -401,
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  explicit Status(int code) : code_(code) {}
  Status(int code, std::string message)
      : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == kSuccess; }
  int code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  int code_ = kSuccess;
  std::string message_;
};

// A T, or the Status that explains its absence. The status of a Result made
// from a T is success; a Result must not be made from a successful Status.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}         // NOLINT
  Result(Status status) : state_(std::move(status)) {}  // NOLINT

  bool ok() const { return std::holds_alternative<T>(state_); }
  Status status() const { return ok() ? Status() : std::get<Status>(state_); }
  int code() const { return ok() ? 0 : std::get<Status>(state_).code(); }

  T& value() & { return std::get<T>(state_); }
  const T& value() const& { return std::get<T>(state_); }
  T&& value() && { return std::get<T>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<Status, T> state_;
};

}  // namespace canopy

#endif  // CANOPY_COMMON_STATUS_H_
