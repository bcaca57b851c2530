#include "server/relay/byte_bridge.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace canopy::relay {

ByteBridge::ByteBridge(EventLoop* loop, UniqueFd socket, PieceStream* stream,
                       const BridgeOptions& options)
    : loop_(loop),
      socket_(std::move(socket)),
      stream_(stream),
      options_(options) {
  beat_timer_ = loop_->AddTimer(options_.beat_ns, [this] { Beat(); });
  Deliver();
}

ByteBridge::~ByteBridge() {
  if (watched_ != 0) loop_->Unwatch(socket_.get());
  loop_->CancelTimer(beat_timer_);
  loop_->CancelTimer(linger_timer_);
}

// ---------------------------------------------- completions of the stream ---

void ByteBridge::OnPiece(std::string_view piece) {
  reading_ = false;
  if (piece.size() > kMaxPiece) return Break();
  if (!deaf_ && !piece.empty()) out_.Append(std::string(piece));
  Deliver();
}

void ByteBridge::OnPeerEnd() {
  reading_ = false;
  peer_ended_ = true;
  Linger();
  Deliver();
}

void ByteBridge::OnWritten(bool ok) {
  writing_ = false;
  // Data that the peer has sent may still be read.
  if (!ok || socket_ended_) return EndSocket();
  UpdateWatch();
}

// Writes to the socket. If the peer no longer reads, the data that it sent
// before is still forwarded.
void ByteBridge::Deliver() {
  if (broken_) return;
  if (out_.Flush(socket_.get()) == OutQueue::State::kBroken) {
    deaf_ = true;
    out_ = OutQueue();
  }
  if (out_.empty() && peer_ended_ && !std::exchange(shut_, true)) {
    if (options_.closes_at_end) return EndSocket();
    shutdown(socket_.get(), SHUT_WR);
  }
  if (out_.empty() && !peer_ended_ && !reading_) {
    reading_ = true;
    heard_ = EventLoop::Now();
    stream_->Read();
  }
  UpdateWatch();
}

// ------------------------------------------------- events of the socket ---

void ByteBridge::OnSocket(uint32_t events) {
  const bool other = (events & ~uint32_t{EPOLLOUT}) != 0;
  if (other && (watched_ & EPOLLIN) != 0) {
    ReadSocket();
  } else if (other) {
    hung_up_ = true;
    Linger();
    UpdateWatch();
  }
  if (!out_.empty()) Deliver();
}

void ByteBridge::ReadSocket() {
  std::string piece(kMaxPiece, '\0');
  const ssize_t n =
      recv(socket_.get(), piece.data(), piece.size(), MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return EndSocket();
  piece.resize(static_cast<size_t>(n));
  writing_ = wrote_ = true;
  UpdateWatch();
  stream_->Write(std::move(piece));
}

void ByteBridge::EndSocket() {
  socket_ended_ = true;
  Linger();
  SayEnd();
}

// ------------------------------------------------------------------- ends ---

void ByteBridge::SayEnd() {
  UpdateWatch();
  if (!writing_ && !std::exchange(end_said_, true)) stream_->End();
}

void ByteBridge::Break() {
  socket_ended_ = deaf_ = true;
  out_ = OutQueue();
  if (!std::exchange(broken_, true)) {
    shutdown(socket_.get(), SHUT_RDWR);
    stream_->Cancel();
  }
  SayEnd();
}

void ByteBridge::Linger() {
  if (linger_timer_ != 0 || broken_) return;
  linger_timer_ = loop_->AddTimer(options_.linger_ns, [this] { Break(); });
}

void ByteBridge::Beat() {
  beat_timer_ = loop_->AddTimer(options_.beat_ns, [this] { Beat(); });
  if (reading_ && EventLoop::Now() - heard_ > options_.silence_ns) {
    return Break();
  }
  if (std::exchange(wrote_, false) || writing_ || end_said_) return;
  writing_ = true;
  UpdateWatch();
  stream_->Write("");
}

void ByteBridge::UpdateWatch() {
  uint32_t wanted = 0;
  if (!writing_ && !socket_ended_) wanted |= EPOLLIN;
  if (writing_ && !socket_ended_ && !hung_up_) wanted |= EPOLLRDHUP;
  if (!out_.empty()) wanted |= EPOLLOUT;
  if (wanted == watched_) return;
  const uint32_t before = std::exchange(watched_, wanted);
  if (wanted == 0) {
    loop_->Unwatch(socket_.get());
  } else if (before != 0) {
    loop_->Rewatch(socket_.get(), wanted);
  } else {
    loop_->Watch(socket_.get(), wanted,
                 [this](uint32_t events) { OnSocket(events); });
  }
}

}  // namespace canopy::relay
