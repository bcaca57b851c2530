#include "server/scheduler/callback_threads.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>

#include <chrono>
#include <memory>

namespace canopy::scheduler {
namespace {

// Keeps gRPC's threads alive by a channel that has made a call, because a
// channel uses the threads from its first call on. The channel is connected to
// no server, and the deadline of its call has passed when the call begins.
struct Keeper {
  Keeper()
      : stub(grpc::CreateChannel("unix:/dev/null",
                                 grpc::InsecureChannelCredentials())) {
    context.set_deadline(std::chrono::system_clock::now());
    stub.UnaryCall(&context, "/canopy/Nothing", {}, &request, &response,
                   [](const grpc::Status&) {});
  }

  grpc::GenericStub stub;
  grpc::ClientContext context;
  grpc::Slice nothing;
  grpc::ByteBuffer request{&nothing, 1};
  grpc::ByteBuffer response;
};

}  // namespace

void KeepCallbackThreads() {
  static Keeper* const keeper = new Keeper;
  (void)keeper;
}

}  // namespace canopy::scheduler
