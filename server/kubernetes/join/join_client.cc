#include "server/kubernetes/join/join_client.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <utility>

#include "protos/pods.grpc.pb.h"
#include "server/kubernetes/join/join_message.h"
#include "server/rpc/status.h"

namespace canopy::kubernetes {
namespace {

constexpr int64_t kRetryNs = int64_t{1000} * 1000 * 1000;

}  // namespace

// One arrival with its attempts.
class JoinClient::Call : public std::enable_shared_from_this<Call> {
 public:
  Call(const Parts* parts, Arrival arrival, Joined done)
      : parts_(parts), arrival_(std::move(arrival)), done_(std::move(done)) {}

  void Attempt() {
    timer_ = 0;
    if (ended_) return;
    const std::shared_ptr<Call> self = shared_from_this();
    withdraw_ = parts_->here(
        arrival_, [self](const Status& status) { self->End(status); });
    if (ended_ || withdraw_) return;
    const Result<std::shared_ptr<grpc::Channel>> channel = parts_->channel();
    if (!channel.ok()) return Retry();
    auto exchange = std::make_shared<Exchange>(*channel, arrival_);
    withdraw_ = [exchange] { exchange->context.TryCancel(); };
    exchange->stub->async()->Join(
        &exchange->context, &exchange->request, &exchange->reply,
        [self, exchange](const grpc::Status& status) {
          self->parts_->loop->Post([self, status] { self->OnAnswer(status); });
        });
  }

  void Withdraw() {
    if (std::exchange(ended_, true)) return;
    if (timer_ != 0) parts_->loop->CancelTimer(timer_);
    if (withdraw_) withdraw_();
  }

 private:
  struct Exchange {
    Exchange(const std::shared_ptr<grpc::Channel>& channel,
             const Arrival& arrival)
        : stub(v1::Pods::NewStub(channel)), request(ToMessage(arrival)) {}

    const std::unique_ptr<v1::Pods::Stub> stub;
    const v1::JoinRequest request;
    grpc::ClientContext context;
    v1::JoinReply reply;
  };

  // Errors of the transport are repeated: the agent that launches jobs may have
  // been replaced by another.
  void OnAnswer(const grpc::Status& status) {
    if (ended_) return;
    switch (status.error_code()) {
      case grpc::StatusCode::UNAVAILABLE:
      case grpc::StatusCode::CANCELLED:
      case grpc::StatusCode::UNIMPLEMENTED:
        return Retry();
      default:
        End(rpc::FromAbsl(
            absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                         status.error_message())));
    }
  }

  void Retry() {
    withdraw_ = nullptr;
    timer_ = parts_->loop->AddTimer(
        kRetryNs, [self = shared_from_this()] { self->Attempt(); });
  }

  void End(const Status& status) {
    if (std::exchange(ended_, true)) return;
    withdraw_ = nullptr;
    parts_->loop->Defer(
        [self = shared_from_this(), status] { self->done_(status); });
  }

  const Parts* const parts_;
  const Arrival arrival_;
  const Joined done_;
  bool ended_ = false;
  EventLoop::TimerId timer_ = 0;
  std::function<void()> withdraw_;
};

std::function<void()> JoinClient::Join(Arrival arrival, Joined done) {
  const auto call =
      std::make_shared<Call>(&parts_, std::move(arrival), std::move(done));
  parts_.loop->Defer([call] { call->Attempt(); });
  return [call] { call->Withdraw(); };
}

}  // namespace canopy::kubernetes
