#include "server/control/forwarded_call.h"

#include <utility>

#include "common/user_calls.h"

namespace canopy::control {

ForwardedCall::ForwardedCall(grpc::GenericCallbackServerContext* context,
                             const std::shared_ptr<grpc::Channel>& channel,
                             const std::string& user, UserCalls::Slot slot)
    : method_(context->method()), slot_(std::move(slot)), stub_(channel) {
  onward_context_.AddMetadata(kUserMetadata, user);
  onward_context_.set_deadline(context->deadline());
}

// The onward call has two holds, one for each direction, because messages are
// read and written in callbacks of the other call.
void ForwardedCall::Begin() {
  stub_.PrepareBidiStreamingCall(&onward_context_, method_, grpc::StubOptions(),
                                 &onward_);
  onward_.AddMultipleHolds(2);
  onward_.StartRead(&answer_);
  onward_.StartCall();
  StartRead(&request_);
}

void ForwardedCall::OnReadDone(bool ok) {
  const MutexLock lock(mutex_);
  if (!forwards_) return;
  if (ok) return onward_.StartWrite(&request_);
  onward_.StartWritesDone();
  EndRequests();
}

void ForwardedCall::OnForwarded(bool ok) {
  const MutexLock lock(mutex_);
  if (!forwards_) return;
  if (ok) return StartRead(&request_);
  EndRequests();
}

void ForwardedCall::OnAnswer(bool ok) {
  if (ok) return StartWrite(&answer_);
  {
    const MutexLock lock(mutex_);
    if (forwards_) EndRequests();
  }
  onward_.RemoveHold();
}

// If the user's command is gone, the onward call is cancelled, which ends its
// answers.
void ForwardedCall::OnWriteDone(bool ok) {
  if (!ok) onward_context_.TryCancel();
  onward_.StartRead(&answer_);
}

void ForwardedCall::EndRequests() {
  forwards_ = false;
  onward_.RemoveHold();
}

}  // namespace canopy::control
