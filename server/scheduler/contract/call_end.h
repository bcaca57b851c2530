// The end of a call of the scheduler's service, and its meaning:
// protos/canopy/hostmodule/v1/host_module.proto, "Errors" and "Repeats".
#ifndef CANOPY_SERVER_SCHEDULER_CONTRACT_CALL_END_H_
#define CANOPY_SERVER_SCHEDULER_CONTRACT_CALL_END_H_

#include <cstdint>
#include <optional>
#include <string>

#include "common/status.h"

namespace canopy::scheduler {

// A gRPC status.
struct CallEnd {
  int code = 0;
  std::string message;
  std::optional<int> pmix_status = {};  // from the details of the gRPC status
  // the pause before a repetition that the details request
  std::optional<int64_t> retry_ns = {};

  bool ok() const { return code == 0; }
  // Returns true if the service does not implement the call.
  bool unimplemented() const { return code == 12; }
  bool out_of_time() const { return code == 4; }
  // Returns true if the service is unreachable or the connection was lost.
  bool gone() const { return code == 14 || code == 1; }
  // Returns true if a process's call may be repeated.
  bool passes() const;
  // Returns true if a call about a placement has to be repeated, because the
  // scheduler has not decided.
  bool leaves_undecided() const;
};

// Returns the end of a call. `details` are the binary details of its status:
// the bytes of a google.rpc.Status, or empty. Malformed details are ignored. A
// message of gRPC's transport is reduced to its cause.
CallEnd EndOf(int code, const std::string& message, const std::string& details);

// Returns the PMIx status of an error, with one line of its text.
Status StatusOf(const CallEnd& end);

}  // namespace canopy::scheduler

#endif  // CANOPY_SERVER_SCHEDULER_CONTRACT_CALL_END_H_
