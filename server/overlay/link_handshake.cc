#include "server/overlay/link_handshake.h"

#include <utility>

namespace canopy::overlay {
namespace {

const StreamEnd kCancelled{kEndCancelled, ""};

StreamEnd Malformed() {
  return {kEndRefused, "the peer does not speak the overlay's protocol"};
}

StreamEnd Silent() {
  return {kEndUnavailable, "no answer to the greeting in time"};
}

}  // namespace

ClientHandshake::ClientHandshake(EventLoop* loop, const Identity* identity,
                                 std::shared_ptr<Stream> stream,
                                 NodeId expected, std::string name,
                                 const ResumePoint& resume, int64_t timeout_ns,
                                 Done done)
    : loop_(loop),
      identity_(identity),
      stream_(std::move(stream)),
      expected_(expected),
      name_(std::move(name)),
      hello_(MakeHello(*identity, resume)),
      done_(std::move(done)) {
  Frame frame;
  frame.hello = hello_;
  stream_->Attach(this);
  if (stream_->Writable()) stream_->Write(EncodeFrame(frame));
  timer_ = loop_->AddTimer(timeout_ns, [this] {
    timer_ = 0;
    Finish(Silent());
  });
}

ClientHandshake::~ClientHandshake() {
  if (timer_ != 0) loop_->CancelTimer(timer_);
  if (stream_ != nullptr) stream_->Close(kCancelled);
}

void ClientHandshake::Finish(const StreamEnd& end) {
  if (timer_ != 0) loop_->CancelTimer(std::exchange(timer_, 0));
  std::shared_ptr<Stream> stream = std::exchange(stream_, nullptr);
  if (!end.ok()) {
    stream->Close(kCancelled);
    stream = nullptr;
  }
  const Done done = std::move(done_);
  const Welcome welcome = welcome_;
  done(end, welcome, std::move(stream));
}

void ClientHandshake::OnFrame(Bytes data) {
  if (stream_ == nullptr) return;
  auto frame = DecodeFrame(data);
  if (!frame.ok() || !frame->welcome.has_value() || welcomed_) {
    return Finish(Malformed());
  }
  welcome_ = std::move(*frame->welcome);
  const StreamEnd verdict =
      CheckWelcome(*identity_, hello_, welcome_, expected_, name_);
  if (!verdict.ok()) return Finish(verdict);
  welcomed_ = true;
  Answer();
}

void ClientHandshake::Answer() {
  // The Welcome can arrive before gRPC has reported the Hello as written.
  if (!welcomed_ || stream_ == nullptr || !stream_->Writable()) return;
  Frame answer;
  answer.proof = MakeProof(*identity_, hello_, welcome_);
  stream_->Write(EncodeFrame(answer));
  Finish({});
}

void ClientHandshake::OnEnd(const StreamEnd& end) {
  if (end.code == kEndWrongKey) return Finish(KeyDiffers(name_));
  Finish(end.ok() ? StreamEnd{kEndUnavailable, "the peer ended the stream"}
                  : end);
}

ServerHandshake::ServerHandshake(EventLoop* loop, const Identity* identity,
                                 std::shared_ptr<Stream> stream,
                                 int64_t timeout_ns, Admit admit, Done done)
    : loop_(loop),
      identity_(identity),
      stream_(std::move(stream)),
      admit_(std::move(admit)),
      done_(std::move(done)) {
  stream_->Attach(this);
  timer_ = loop_->AddTimer(timeout_ns, [this] {
    timer_ = 0;
    Finish(Silent());
  });
}

ServerHandshake::~ServerHandshake() {
  if (timer_ != 0) loop_->CancelTimer(timer_);
  if (stream_ != nullptr) stream_->Close(kCancelled);
}

void ServerHandshake::Finish(const StreamEnd& end) {
  if (timer_ != 0) loop_->CancelTimer(std::exchange(timer_, 0));
  std::shared_ptr<Stream> stream = std::exchange(stream_, nullptr);
  if (!end.ok()) {
    stream->Close(end);
    stream = nullptr;
  }
  const Done done = std::move(done_);
  const Hello hello = hello_;
  const Welcome welcome = welcome_;
  done(end, hello, welcome, std::move(stream));
}

StreamEnd ServerHandshake::Greet(const Hello& hello) {
  StreamEnd verdict = CheckHello(*identity_, hello);
  ResumePoint resume;
  if (verdict.ok()) verdict = admit_(hello, &resume);
  if (!verdict.ok()) return verdict;
  greeted_ = true;
  hello_ = hello;
  welcome_ = MakeWelcome(*identity_, hello, resume);
  Frame frame;
  frame.welcome = welcome_;
  stream_->Write(EncodeFrame(frame));
  return {};
}

void ServerHandshake::OnFrame(Bytes data) {
  if (stream_ == nullptr) return;
  auto frame = DecodeFrame(data);
  if (!frame.ok()) return Finish(Malformed());
  if (!greeted_) {
    if (!frame->hello.has_value()) return Finish(Malformed());
    const StreamEnd verdict = Greet(*frame->hello);
    if (!verdict.ok()) Finish(verdict);
    return;
  }
  if (!frame->proof.has_value()) return Finish(Malformed());
  Finish(CheckProof(*identity_, hello_, welcome_, *frame->proof));
}

void ServerHandshake::OnEnd(const StreamEnd& end) {
  Finish(end.ok() ? StreamEnd{kEndUnavailable, "the peer left"} : end);
}

FarewellStream::FarewellStream(std::shared_ptr<Stream> stream, Frame frame)
    : stream_(std::move(stream)), frame_(std::move(frame)) {
  stream_->Attach(this);
  OnWritable();
}

FarewellStream::~FarewellStream() {
  if (stream_ != nullptr) stream_->Close(kCancelled);
}

void FarewellStream::OnWritable() {
  if (stream_ == nullptr || !stream_->Writable()) return;
  stream_->Write(EncodeFrame(frame_));
  std::exchange(stream_, nullptr)->CloseInOrder();
}

}  // namespace canopy::overlay
