#include "client/cli/control/control_client.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <utility>

#include "client/cli/control/control_channel.h"
#include "protos/control.grpc.pb.h"

namespace canopy::cli {
namespace {

namespace v1c = control::v1;

constexpr auto kCallTimeout = std::chrono::seconds(20);
// The limit includes the time that jobs get to end. The call fails if a job has
// a longer grace period and uses it.
constexpr auto kShutdownTimeout = std::chrono::seconds(60);

}  // namespace

struct ControlClient::Impl {
  std::unique_ptr<v1c::Control::Stub> stub;
  std::string member;  // ControlTarget::member

  template <typename Reply, typename Request>
  Result<Reply> Call(grpc::Status (v1c::Control::Stub::*method)(
                         grpc::ClientContext*, const Request&, Reply*),
                     const Request& request, std::chrono::seconds timeout) {
    grpc::ClientContext context;
    NameMember(member, &context);
    context.set_deadline(std::chrono::system_clock::now() + timeout);
    Reply reply;
    Status status = FromGrpc(((*stub).*method)(&context, request, &reply));
    if (!status.ok()) return status;
    return reply;
  }
};

ControlClient::ControlClient(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}
ControlClient::~ControlClient() = default;
ControlClient::ControlClient(ControlClient&&) noexcept = default;
ControlClient& ControlClient::operator=(ControlClient&&) noexcept = default;

Result<ControlClient> ControlClient::Connect(const ControlTarget& target,
                                             int timeout_ms) {
  Result<std::shared_ptr<grpc::Channel>> channel =
      ConnectControlChannel(target, timeout_ms);
  if (!channel.ok()) return channel.status();
  auto impl = std::make_unique<Impl>();
  impl->stub = v1c::Control::NewStub(*channel);
  impl->member = target.member;
  return ControlClient(std::move(impl));
}

Result<v1c::StatusReply> ControlClient::GetStatus(bool ask_all) {
  v1c::StatusRequest request;
  request.set_ask_all(ask_all);
  return impl_->Call(&v1c::Control::Stub::Status, request, kCallTimeout);
}

Result<v1c::ListJobsReply> ControlClient::ListJobs() {
  return impl_->Call(&v1c::Control::Stub::ListJobs, v1c::ListJobsRequest(),
                     kCallTimeout);
}

Result<v1c::WhyReply> ControlClient::Why(const std::string& nspace) {
  v1c::WhyRequest request;
  request.set_nspace(nspace);
  return impl_->Call(&v1c::Control::Stub::Why, request, kCallTimeout);
}

Status ControlClient::SignalJob(const std::string& nspace, int signal) {
  v1c::SignalJobRequest request;
  request.set_nspace(nspace);
  request.set_signal(signal);
  return impl_->Call(&v1c::Control::Stub::SignalJob, request, kCallTimeout)
      .status();
}

Result<v1c::AddNodesReply> ControlClient::AddNodes(
    const v1c::AddNodesRequest& request) {
  return impl_->Call(&v1c::Control::Stub::AddNodes, request, kCallTimeout);
}

Result<v1c::DecideNodesReply> ControlClient::DecideNodes(
    const v1c::DecideNodesRequest& request) {
  return impl_->Call(&v1c::Control::Stub::DecideNodes, request, kCallTimeout);
}

Status ControlClient::Replace(const std::string& program) {
  v1c::ReplaceRequest request;
  request.set_program(program);
  return impl_->Call(&v1c::Control::Stub::Replace, request, kCallTimeout)
      .status();
}

Status ControlClient::Shutdown(bool force) {
  v1c::ShutdownRequest request;
  request.set_force(force);
  return impl_->Call(&v1c::Control::Stub::Shutdown, request, kShutdownTimeout)
      .status();
}

}  // namespace canopy::cli
