#include "server/rpc/queue_wake.h"

#include <grpc/grpc.h>
#include <grpc/slice.h>
#include <grpc/support/time.h>

#include "common/check.h"

namespace canopy::rpc {
namespace {

grpc_call* MakeCall(grpc_completion_queue* queue) {
  grpc_channel* const channel = grpc_lame_client_channel_create(
      "nowhere", GRPC_STATUS_UNAVAILABLE, "for wake-ups only");
  grpc_call* const call =
      grpc_channel_create_call(channel, nullptr, GRPC_PROPAGATE_DEFAULTS, queue,
                               grpc_slice_from_static_string("/wake"), nullptr,
                               gpr_inf_future(GPR_CLOCK_REALTIME), nullptr);
  // The call keeps a reference to the channel.
  grpc_channel_destroy(channel);
  return call;
}

}  // namespace

QueueWake::QueueWake(grpc::CompletionQueue* queue)
    : call_(MakeCall(queue->cq())) {}

QueueWake::~QueueWake() { grpc_call_unref(call_); }

void QueueWake::Post() {
  grpc::internal::CompletionQueueTag* const tag = this;
  CANOPY_CHECK(grpc_call_start_batch(call_, nullptr, 0, tag, nullptr) ==
               GRPC_CALL_OK);
}

bool QueueWake::FinalizeResult(void** tag, bool*) {
  Completion* const completion = this;
  *tag = completion;
  return true;
}

}  // namespace canopy::rpc
