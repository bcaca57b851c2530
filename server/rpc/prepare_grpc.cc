#include "server/rpc/prepare_grpc.h"

#include <absl/synchronization/mutex.h>
#include <grpc/grpc.h>
#include <grpc/support/log.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

// gRPC's replaceable poll function, which each wait of its "poll" strategy
// calls. Declared weak: if gRPC lacks it, DriverKind::kThread is used.
extern
    __attribute__((weak)) int (*grpc_poll_function)(pollfd* fds, nfds_t count,
                                                    int timeout_ms);

namespace canopy::rpc {
namespace {

// Prints only the line that precedes an abort of the process. gRPC's errors are
// returned as statuses and reported to the operator, so its other lines on
// stderr would only repeat them.
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
  // Debian's Abseil is compiled to check the order of locks, which costs a few
  // percent of a fence across nodes.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

void PrepareGrpc(int (*poll)(pollfd* fds, nfds_t count, int timeout_ms)) {
  QuietGrpc();
  if (&grpc_poll_function != nullptr) grpc_poll_function = poll;
  // With gRPC's usual strategy all completion queues share one set of
  // descriptors, and the thread that polls passes events to the others. With
  // the strategy "poll", each queue's thread polls for itself. The setting must
  // not remain in the environment, which child processes inherit.
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
