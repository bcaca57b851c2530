#include "server/shim/output_pump.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "server/shim/protocol.h"

namespace canopy::process {
namespace {

// A chunk costs memory of its own, so single bytes must not fill the window.
constexpr size_t kMaxChunks = 4096;

}  // namespace

OutputPump::OutputPump(EventLoop* loop, uint64_t window, Emit emit,
                       OnEnd on_end)
    : loop_(loop),
      window_(window),
      emit_(std::move(emit)),
      on_end_(std::move(on_end)),
      buffer_(std::make_unique_for_overwrite<char[]>(kMaxOutputChunk)) {}

OutputPump::~OutputPump() {
  for (const auto& stream : streams_) {
    if (stream->pipe) loop_->Unwatch(stream->pipe.get());
  }
}

void OutputPump::Add(Rank rank, uint16_t channel, UniqueFd pipe) {
  auto stream = std::make_unique<Stream>();
  stream->rank = rank;
  stream->channel = channel;
  stream->pipe = std::move(pipe);
  const int fd = stream->pipe.get();
  fcntl(fd, F_SETFL, O_NONBLOCK);
  Stream* const raw = stream.get();
  loop_->Watch(fd, EPOLLIN | EPOLLONESHOT,
               [this, raw](uint32_t) { OnReadable(raw); });
  streams_.push_back(std::move(stream));
  ++open_[rank];
}

bool OutputPump::WindowOpen() const {
  return kept_bytes_ < window_ && kept_.size() < kMaxChunks;
}

void OutputPump::OnReadable(Stream* stream) {
  if (std::exchange(stream->ready, true)) return;
  ready_.push_back(stream);
  Pump();
}

void OutputPump::Pump() {
  while (!ready_.empty() && WindowOpen()) {
    Stream* const stream = ready_.front();
    ready_.pop_front();
    stream->ready = false;
    ReadOne(stream);
  }
}

void OutputPump::ReadOne(Stream* stream) {
  const size_t size =
      std::min<uint64_t>(kMaxOutputChunk, window_ - kept_bytes_);
  const ssize_t n = read(stream->pipe.get(), buffer_.get(), size);
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
    return End(stream);
  }
  if (n > 0) {
    Keep(*stream, Bytes(std::string(buffer_.get(), static_cast<size_t>(n))));
  }
  if (n == static_cast<ssize_t>(size)) {
    stream->ready = true;
    ready_.push_back(stream);
  } else {
    loop_->Rewatch(stream->pipe.get(), EPOLLIN | EPOLLONESHOT);
  }
}

void OutputPump::Keep(const Stream& stream, Bytes data) {
  kept_bytes_ += data.size();
  kept_.push_back({stream.rank, stream.channel, data});
  if (flowing_) emit_(stream.rank, stream.channel, std::move(data));
}

void OutputPump::End(Stream* stream) {
  loop_->Unwatch(stream->pipe.get());
  stream->pipe.Reset();
  if (flowing_) emit_(stream->rank, stream->channel, Bytes());
  const auto it = open_.find(stream->rank);
  if (--it->second > 0) return;
  open_.erase(it);
  on_end_(stream->rank);
}

void OutputPump::Resume() {
  flowing_ = true;
  for (const Chunk& chunk : kept_) emit_(chunk.rank, chunk.channel, chunk.data);
  for (const auto& stream : streams_) {
    if (!stream->pipe) emit_(stream->rank, stream->channel, Bytes());
  }
}

void OutputPump::Credit(uint64_t bytes) {
  while (bytes > 0 && !kept_.empty()) {
    Bytes& data = kept_.front().data;
    const uint64_t n = std::min<uint64_t>(bytes, data.size());
    bytes -= n;
    kept_bytes_ -= n;
    acknowledged_ += n;
    if (n == data.size()) {
      kept_.pop_front();
    } else {
      data = data.Slice(n, data.size());
    }
  }
  Pump();
}

bool OutputPump::IsOpen(Rank rank) const { return open_.contains(rank); }

bool OutputPump::IsHeldBack(Rank rank) const {
  return std::any_of(ready_.begin(), ready_.end(),
                     [rank](const Stream* s) { return s->rank == rank; });
}

}  // namespace canopy::process
