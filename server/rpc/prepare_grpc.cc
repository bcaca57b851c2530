#include "server/rpc/prepare_grpc.h"

#include <absl/synchronization/mutex.h>
#include <grpc/grpc.h>
#include <grpc/support/log.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

// gRPC's own seam around poll(), through which every wait of its "poll"
// strategy goes. Weak: a gRPC without it is one for the plain driver.
extern
    __attribute__((weak)) int (*grpc_poll_function)(pollfd* fds, nfds_t count,
                                                    int timeout_ms);

namespace canopy::rpc {
namespace {

// gRPC's errors are returned as statuses, which are reported to the operator;
// its own lines on stderr would only repeat them. Only what it prints before it
// aborts the process is lost.
void LogFatal(gpr_log_func_args* args) {
  const std::string_view text = args->message;
  if (text.find("assertion failed") != text.npos ||
      text.find("API misuse") != text.npos) {
    fprintf(stderr, "gRPC: %s (%s:%d)\n", args->message, args->file,
            args->line);
  }
}

}  // namespace

void QuietGrpc() {
  if (getenv("GRPC_VERBOSITY") == nullptr) gpr_set_log_function(LogFatal);
  // Debian's Abseil is compiled to watch the order of gRPC's locks.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

void PrepareGrpc(int (*poll)(pollfd* fds, nfds_t count, int timeout_ms)) {
  QuietGrpc();
  if (&grpc_poll_function != nullptr) grpc_poll_function = poll;
  // With its usual strategy all completion queues share one set of
  // descriptors, and whichever thread polls hands events to the others. With
  // this one a queue's thread polls for itself. The choice is made here once
  // and must not reach the environment of what this process starts.
  const char* const chosen = getenv("GRPC_POLL_STRATEGY");
  const std::string before = chosen == nullptr ? "" : chosen;
  setenv("GRPC_POLL_STRATEGY", "poll", 1);
  grpc_init();
  if (chosen == nullptr) {
    unsetenv("GRPC_POLL_STRATEGY");
  } else {
    setenv("GRPC_POLL_STRATEGY", before.c_str(), 1);
  }
}

}  // namespace canopy::rpc
