#include "server/kubernetes/join/join_service.h"

#include <memory>
#include <utility>

#include "protos/pods.grpc.pb.h"
#include "server/kubernetes/join/join_message.h"
#include "server/rpc/status.h"

namespace canopy::kubernetes {
namespace {

// One call. It deletes itself when gRPC is done with it and the loop has no
// more use for it.
class JoinCall : public grpc::ServerUnaryReactor,
                 public std::enable_shared_from_this<JoinCall> {
 public:
  JoinCall(EventLoop* loop, const JoinService::Arrive* arrive)
      : loop_(loop), arrive_(arrive) {}

  void Begin(const v1::JoinRequest& request) {
    self_ = shared_from_this();
    loop_->Post([call = self_, arrival = FromMessage(request)]() mutable {
      if (call->cancelled_) return call->End(Status(kErrLostConnection));
      call->withdraw_ =
          (*call->arrive_)(std::move(arrival),
                           [call](const Status& status) { call->End(status); });
    });
  }

  void OnCancel() override {
    loop_->Post([call = shared_from_this()] {
      call->cancelled_ = true;
      if (call->ended_) return;
      if (call->withdraw_) call->withdraw_();
      call->End(Status(kErrLostConnection));
    });
  }

  void OnDone() override { self_.reset(); }

 private:
  void End(const Status& status) {
    if (std::exchange(ended_, true)) return;
    Finish(rpc::ToGrpc(rpc::ToAbsl(status)));
  }

  EventLoop* const loop_;
  const JoinService::Arrive* const arrive_;
  std::shared_ptr<JoinCall> self_;
  // The loop's thread.
  std::function<void()> withdraw_;
  bool cancelled_ = false;
  bool ended_ = false;
};

}  // namespace

class JoinService::Impl : public v1::Pods::CallbackService {
 public:
  Impl(EventLoop* loop, Arrive arrive)
      : loop_(loop), arrive_(std::move(arrive)) {}

  grpc::ServerUnaryReactor* Join(grpc::CallbackServerContext*,
                                 const v1::JoinRequest* request,
                                 v1::JoinReply*) override {
    const auto call = std::make_shared<JoinCall>(loop_, &arrive_);
    call->Begin(*request);
    return call.get();
  }

 private:
  EventLoop* const loop_;
  const Arrive arrive_;
};

JoinService::JoinService(EventLoop* loop, Arrive arrive)
    : impl_(std::make_unique<Impl>(loop, std::move(arrive))) {}

JoinService::~JoinService() = default;

grpc::Service* JoinService::service() { return impl_.get(); }

}  // namespace canopy::kubernetes
