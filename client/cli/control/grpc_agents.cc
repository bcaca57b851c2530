#include "client/cli/control/grpc_agents.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "client/cli/control/context_target.h"
#include "client/cli/control/control_channel.h"
#include "common/mutex.h"
#include "protos/control.grpc.pb.h"

namespace canopy::cli {
namespace {

namespace v1c = control::v1;

class GrpcRunConnection : public RunConnection {
 public:
  GrpcRunConnection(const std::shared_ptr<grpc::Channel>& channel,
                    const std::string& member)
      : stub_(v1c::Control::NewStub(channel)) {
    NameMember(member, &context_);
    stream_ = stub_->Run(&context_);
  }

  bool Write(const v1c::RunRequest& request) override {
    const MutexLock lock(mutex_);
    return !finished_ && stream_->Write(request);
  }
  bool Read(v1c::RunEvent* event) override { return stream_->Read(event); }
  std::string WhyEnded() override {
    const MutexLock lock(mutex_);
    finished_ = true;
    const grpc::Status end = stream_->Finish();
    return end.ok() ? "" : FromGrpc(end).message();
  }

 private:
  const std::unique_ptr<v1c::Control::Stub> stub_;
  grpc::ClientContext context_;
  Mutex mutex_;
  bool finished_ CANOPY_GUARDED_BY(mutex_) = false;
  std::unique_ptr<grpc::ClientReaderWriter<v1c::RunRequest, v1c::RunEvent>>
      stream_;
};

}  // namespace

Result<std::unique_ptr<RunConnection>> DialRun(const ControlTarget& target) {
  Result<std::shared_ptr<grpc::Channel>> channel = MakeControlChannel(target);
  if (!channel.ok()) return channel.status();
  return std::unique_ptr<RunConnection>(
      std::make_unique<GrpcRunConnection>(*channel, target.member));
}

void GrpcAgents::WarmUp() { WarmUpGrpc(); }

Result<std::unique_ptr<RunConnection>> GrpcAgents::DialRoot(
    const v1::Context& overlay, int* member) {
  ControlTarget target;
  {
    Result<RootAgent> root = ConnectRoot(overlay);
    if (!root.ok()) return root.status();
    const Status status =
        root->member > 0 ? WaitUntilRoot(overlay, &*root) : Status();
    if (!status.ok()) return status;
    target = std::move(root->target);
    *member = root->member;
  }
  return DialRun(target);
}

Result<std::unique_ptr<RunConnection>> GrpcAgents::DialMember(
    const v1::Context& overlay, int member) {
  const ControlTarget target = TargetOf(overlay, member);
  if (!target.address.empty()) return DialRun(target);
  return Status(kErrUnreach, "the control socket " +
                                 overlay.members(member).control_socket() +
                                 " is gone");
}

}  // namespace canopy::cli
