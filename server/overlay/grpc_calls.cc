#include "server/overlay/grpc_calls.h"

#include <string>
#include <utility>
#include <vector>

#include "common/wording/transport_text.h"

namespace canopy::overlay {
namespace {

using grpc::ByteBuffer;

constexpr char kMethod[] = "/canopy.overlay.v1.Overlay/Link";
// Parts of a frame up to this size are copied into a slice; larger parts are
// shared.
constexpr size_t kCopyPart = 16 * 1024;

grpc::Slice ShareSlice(const Bytes& bytes) {
  auto* keep = new Bytes(bytes);
  return grpc::Slice(
      const_cast<char*>(keep->view().data()), keep->size(),
      [](void* user) { delete static_cast<Bytes*>(user); }, keep);
}

ByteBuffer ToBuffer(const Rope& frame) {
  std::vector<grpc::Slice> slices;
  slices.reserve(frame.size());
  for (const Bytes& part : frame) {
    if (part.size() <= kCopyPart) {
      slices.emplace_back(part.view().data(), part.size());
    } else {
      slices.push_back(ShareSlice(part));
    }
  }
  return ByteBuffer(slices.data(), slices.size());
}

// Copies the content, because gRPC's read buffers are larger than it.
Bytes ToBytes(const ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok()) return Bytes();
  std::string all;
  all.reserve(buffer.Length());
  for (const grpc::Slice& slice : slices) {
    all.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return Bytes(std::move(all));
}

// gRPC reports a failed TLS handshake like any failure to connect. With derived
// identities its only causes are a different cluster key and a peer without
// TLS.
StreamEnd Explain(const grpc::Status& status, bool derived) {
  const std::string& text = status.error_message();
  if (derived && text.find("Ssl handshake failed") != std::string::npos) {
    if (text.find("wrong version number") != std::string::npos) {
      return {kEndRefused, "it does not speak TLS; this agent does"};
    }
    return {kEndWrongKey, "cluster key differs"};
  }
  return {static_cast<int>(status.error_code()), TransportText(text)};
}

}  // namespace

// ------------------------------------------------------------ CallCounter ---

void CallCounter::Enter() {
  const MutexLock lock(mutex_);
  ++alive_;
}

void CallCounter::Leave() {
  const MutexLock lock(mutex_);
  if (--alive_ == 0) none_.NotifyAll();
}

void CallCounter::WaitForNone() {
  const MutexLock lock(mutex_);
  while (alive_ > 0) none_.Wait(mutex_);
}

// --------------------------------------------------------------- LinkCall ---

LinkCall::LinkCall(EventLoop* loop, rpc::DeferredReads* reads,
                   std::shared_ptr<CallCounter> calls)
    : reads_(reads),
      calls_(std::move(calls)),
      stream_(std::make_shared<BridgeStream>(loop, this)) {
  calls_->Enter();
}

LinkCall::~LinkCall() {
  reads_->Forget(this);
  calls_->Leave();
}

void LinkCall::Read() {
  if (!reads_->Defer(this, last_bytes_)) BeginRead();
}

void LinkCall::ReadReturned(LinkCall* call, bool ok) {
  if (!ok) return call->stream_->ReadDone(std::nullopt);
  Bytes frame = ToBytes(call->in_);
  call->in_.Clear();
  call->last_bytes_ = frame.size();
  call->stream_->ReadDone(std::move(frame));
}

void LinkCall::WriteReturned(LinkCall* call, bool ok) {
  call->out_.Clear();
  call->stream_->WriteDone(ok);
}

void LinkCall::Returned() {
  if (--pending_ > 0) return;
  stream_->Done(End());
  delete this;
}

// ------------------------------------------------------------- ServerCall ---

ServerCall::ServerCall(EventLoop* loop, rpc::DeferredReads* reads,
                       LinkService* service, grpc::ServerCompletionQueue* queue,
                       std::shared_ptr<CallCounter> calls, Events events)
    : LinkCall(loop, reads, std::move(calls)),
      loop_(loop),
      service_(service),
      queue_(queue),
      events_(std::move(events)),
      io_(&context_) {}

void ServerCall::Await(EventLoop* loop, rpc::DeferredReads* reads,
                       LinkService* service, grpc::ServerCompletionQueue* queue,
                       std::shared_ptr<CallCounter> calls, Events events) {
  auto* call = new ServerCall(loop, reads, service, queue, std::move(calls),
                              std::move(events));
  call->context_.AsyncNotifyWhenDone(call->Begin(&call->ended_));
  service->RequestLink(&call->context_, &call->io_, queue, queue,
                       call->Begin(&call->arrived_));
}

void ServerCall::Arrived(LinkCall* link, bool ok) {
  auto* call = static_cast<ServerCall*>(link);
  if (!ok) {
    // The server shut down while this object waited for a call, so neither of
    // these two operations completes.
    call->Abandon();  // ended_
    call->Abandon();  // finish_
    return;
  }
  Await(call->loop_, call->reads_, call->service_, call->queue_, call->calls_,
        call->events_);
  call->BeginRead();
  call->events_.accept(call->stream());
}

void ServerCall::Ended(LinkCall* link, bool) {
  auto* call = static_cast<ServerCall*>(link);
  if (!call->context_.IsCancelled()) return;
  call->cancelled_ = true;
  call->stream()->Broken();
}

StreamEnd ServerCall::End() const {
  if (cancelled_) return {kEndUnavailable, "the connection broke"};
  return {};
}

void ServerCall::BeginRead() { io_.Read(&in_, Begin(&read_)); }

void ServerCall::Write(const Rope& frame) {
  out_ = ToBuffer(frame);
  io_.Write(out_, Begin(&write_));
}

void ServerCall::Finish(const StreamEnd& end) {
  EndReads();
  io_.Finish(grpc::Status(static_cast<grpc::StatusCode>(end.code), end.message),
             Last(&finish_));
}

void ServerCall::Cancel() { context_.TryCancel(); }

// ------------------------------------------------------------- ClientCall ---

ClientCall::ClientCall(EventLoop* loop, rpc::DeferredReads* reads,
                       std::shared_ptr<grpc::Channel> channel,
                       grpc::CompletionQueue* queue,
                       std::shared_ptr<CallCounter> calls, bool derived)
    : LinkCall(loop, reads, std::move(calls)),
      channel_(std::move(channel)),
      derived_(derived),
      stub_(channel_),
      io_(stub_.PrepareCall(&context_, kMethod, queue)) {}

void ClientCall::Start() {
  // The metadata travel with the first frame.
  context_.set_initial_metadata_corked(true);
  io_->StartCall(nullptr);
  BeginRead();
}

StreamEnd ClientCall::End() const { return Explain(status_, derived_); }

void ClientCall::BeginRead() {
  busy_ |= kReading;
  io_->Read(&in_, Begin(&read_back_));
}

void ClientCall::ReadBack(LinkCall* link, bool ok) {
  auto* call = static_cast<ClientCall*>(link);
  call->busy_ &= ~kReading;
  const bool finishing = (call->busy_ & kFinishing) != 0;
  ReadReturned(link, ok);
  if (finishing) call->FinishNow();
}

void ClientCall::Write(const Rope& frame) {
  out_ = ToBuffer(frame);
  io_->Write(out_, Begin(&write_));
}

void ClientCall::Finish(const StreamEnd& end) {
  EndReads();
  if (!end.ok()) context_.TryCancel();
  busy_ |= kFinishing;
  if ((busy_ & kReading) == 0) FinishNow();
}

void ClientCall::FinishNow() { io_->Finish(&status_, Last(&finish_)); }

void ClientCall::Cancel() { context_.TryCancel(); }

void ClientCall::HalfClose() { io_->WritesDone(Begin(&half_closed_)); }

}  // namespace canopy::overlay
