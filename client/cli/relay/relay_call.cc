#include "client/cli/relay/relay_call.h"

#include <utility>

namespace canopy::cli {

RelayCall::RelayCall(EventLoop* loop, relay::v1::ToolRelay::Stub* stub,
                     ToolProtocol protocol, UniqueFd socket,
                     const relay::BridgeOptions& options, OnEnd on_done)
    : loop_(loop), on_done_(std::move(on_done)) {
  if (protocol == ToolProtocol::kLibpmix) {
    stub->async()->CarryLibpmix(&context_, this);
  } else {
    stub->async()->CarryOpenPmix(&context_, this);
  }
  AddHold();
  StartCall();
  bridge_.emplace(loop_, std::move(socket), this, options);
}

// All gRPC callbacks precede OnDone, so the loop executes their work before
// OnDone's.
template <typename Work>
void RelayCall::Post(Work work) {
  loop_->Post([loop = loop_, work = std::move(work)] {
    loop->AssertOnThread();
    work();
  });
}

void RelayCall::Read() {
  reading_ = true;
  StartRead(&incoming_);
}

void RelayCall::Write(std::string piece) {
  outgoing_.set_data(std::move(piece));
  StartWrite(&outgoing_);
}

void RelayCall::End() {
  ended_ = true;
  StartWritesDone();
  Release();
}

void RelayCall::Cancel() {
  cancelled_ = true;
  context_.TryCancel();
  Release();
}

void RelayCall::Release() {
  if (!ended_ || reading_ || (!read_ended_ && !cancelled_)) return;
  if (!std::exchange(released_, true)) RemoveHold();
}

void RelayCall::OnReadDone(bool ok) {
  Post([this, ok] {
    reading_ = false;
    if (ok) return bridge_->OnPiece(incoming_.data());
    read_ended_ = true;
    bridge_->OnPeerEnd();
    Release();
  });
}

void RelayCall::OnWriteDone(bool ok) {
  Post([this, ok] { bridge_->OnWritten(ok); });
}

void RelayCall::OnDone(const grpc::Status& status) {
  Post([this, status] { on_done_(status); });
}

}  // namespace canopy::cli
