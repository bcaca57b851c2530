#include "server/kubernetes/device_plugin/registration_call.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <thread>
#include <utility>

#include "common/posix/start_thread.h"
#include "protos/kubernetes/deviceplugin/v1beta1/api.grpc.pb.h"
#include "server/rpc/status.h"

namespace canopy::kubernetes {
namespace {

constexpr char kVersion[] = "v1beta1";

// Each call has its own connection, because gRPC would delay a further attempt
// to connect to the same address.
std::shared_ptr<grpc::Channel> ChannelTo(const std::string& socket) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  return grpc::CreateCustomChannel(
      "unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
}

absl::Status ToAbslStatus(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      status.error_message());
}

}  // namespace

struct RegistrationCall::Impl {
  // Called by the thread.
  Status Register(const RegistrationRequest& request);

  EventLoop* loop;
  // Used, and set to null, by the loop.
  std::function<void(const Status& status)> done;
  grpc::ClientContext context;
  std::thread thread;
};

Status RegistrationCall::Impl::Register(const RegistrationRequest& request) {
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::milliseconds(request.deadline_ms));
  v1beta1::RegisterRequest message;
  message.set_version(kVersion);
  message.set_endpoint(request.endpoint);
  message.set_resource_name(request.resource);
  message.mutable_options();
  v1beta1::Empty response;
  const auto stub =
      v1beta1::Registration::NewStub(ChannelTo(request.kubelet_socket));
  return rpc::FromAbsl(
      ToAbslStatus(stub->Register(&context, message, &response)));
}

RegistrationCall::RegistrationCall(
    EventLoop* loop, const RegistrationRequest& request,
    std::function<void(const Status& status)> done)
    : impl_(std::make_shared<Impl>()) {
  impl_->loop = loop;
  impl_->done = std::move(done);
  const auto end = [loop, weak = std::weak_ptr<Impl>(impl_)](Status status) {
    loop->Post([weak, status = std::move(status)] {
      const std::shared_ptr<Impl> impl = weak.lock();
      if (impl == nullptr) return;
      // The function is moved, because it may destroy the call.
      const auto done = std::move(impl->done);
      if (done != nullptr) done(status);
    });
  };
  // The thread ends before the object.
  Result<std::thread> thread = StartThread(
      [impl = impl_.get(), request, end] { end(impl->Register(request)); });
  if (thread.ok()) {
    impl_->thread = *std::move(thread);
  } else {
    end(thread.status());
  }
}

RegistrationCall::~RegistrationCall() {
  impl_->done = nullptr;
  impl_->context.TryCancel();
  if (impl_->thread.joinable()) impl_->thread.join();
}

}  // namespace canopy::kubernetes
