// One call of a user's command on its way to the agent that executes it.
#ifndef CANOPY_SERVER_CONTROL_FORWARDED_CALL_H_
#define CANOPY_SERVER_CONTROL_FORWARDED_CALL_H_

#include <grpcpp/client_context.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <string>

#include "common/mutex.h"
#include "server/control/user_connections.h"

namespace canopy::control {

// A server's reactor that ends its call at once, with an error.
class RefusedCall : public grpc::ServerGenericBidiReactor {
 public:
  explicit RefusedCall(const grpc::Status& why) { Finish(why); }
  void OnDone() override { delete this; }
};

// Forwards the messages of a call in both directions, one at a time in each, so
// that a receiver that does not read slows its sender down. The call ends with
// the status of the agent that executes it. The object deletes itself when the
// call has ended.
class ForwardedCall : public grpc::ServerGenericBidiReactor {
 public:
  // `context` is that of the user's call. The other agent learns that the call
  // is one of `user`.
  ForwardedCall(grpc::GenericCallbackServerContext* context,
                const std::shared_ptr<grpc::Channel>& channel,
                const std::string& user, UserCalls::Slot slot);

  // Starts the call at the other agent. Called once.
  void Begin();

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override { onward_context_.TryCancel(); }
  void OnDone() override { delete this; }

 private:
  // The call at the other agent.
  class Onward
      : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
   public:
    explicit Onward(ForwardedCall* call) : call_(call) {}
    void OnReadDone(bool ok) override { call_->OnAnswer(ok); }
    void OnWriteDone(bool ok) override { call_->OnForwarded(ok); }
    void OnDone(const grpc::Status& status) override { call_->Finish(status); }

   private:
    ForwardedCall* const call_;
  };

  void OnAnswer(bool ok);
  void OnForwarded(bool ok);
  // Forwards no more messages of the user.
  void EndRequests() CANOPY_REQUIRES(mutex_);

  const std::string method_;
  const UserCalls::Slot slot_;
  grpc::ClientContext onward_context_;
  grpc::GenericStub stub_;
  Onward onward_{this};
  grpc::ByteBuffer request_;
  grpc::ByteBuffer answer_;
  Mutex mutex_;
  // True while messages of the user may be forwarded. Meanwhile the onward call
  // has a hold, so that it does not end between two of them.
  bool forwards_ CANOPY_GUARDED_BY(mutex_) = true;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_FORWARDED_CALL_H_
