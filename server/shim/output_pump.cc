#include "server/shim/output_pump.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "server/shim/protocol.h"

namespace canopy::process {
namespace {

// The limit for the number of texts, each of which is a separate allocation.
constexpr size_t kMaxTexts = 4096;

}  // namespace

OutputPump::OutputPump(EventLoop* loop, uint64_t window, Emit emit,
                       OnEnding on_ending, OnEnd on_end)
    : loop_(loop),
      window_(window),
      emit_(std::move(emit)),
      on_ending_(std::move(on_ending)),
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
  Stream* const raw = stream.get();
  if (stream->pipe) WatchPipe(raw);
  streams_.push_back(std::move(stream));
  RankStreams& of_rank = ranks_[rank];
  of_rank.streams.push_back(raw);
  ++of_rank.open;
}

void OutputPump::WatchPipe(Stream* stream) {
  const int fd = stream->pipe.get();
  fcntl(fd, F_SETFL, O_NONBLOCK);
  loop_->Watch(fd, EPOLLIN | EPOLLONESHOT, [this, stream](uint32_t) {
    MakeReady(stream);
    Pump();
  });
}

void OutputPump::Drop(Rank rank) {
  const auto of_rank = ranks_.extract(rank);
  if (of_rank.empty()) return;
  std::erase_if(ready_, [rank](const Stream* s) { return s->rank == rank; });
  std::erase_if(streams_, [&](const std::unique_ptr<Stream>& stream) {
    if (stream->rank != rank) return false;
    if (stream->pipe) loop_->Unwatch(stream->pipe.get());
    for (const Text& text : stream->texts) waiting_bytes_ -= text.data.size();
    waiting_texts_ -= stream->texts.size();
    return true;
  });
}

bool OutputPump::WindowOpen() const {
  return kept_bytes_ < window_ && kept_.size() < kMaxOutputChunks;
}

void OutputPump::MakeReady(Stream* stream) {
  if (!std::exchange(stream->ready, true)) ready_.push_back(stream);
}

void OutputPump::Pump() {
  while (!ready_.empty() && WindowOpen()) {
    Stream* const stream = ready_.front();
    ready_.pop_front();
    stream->ready = false;
    TakeTurn(stream);
  }
}

void OutputPump::TakeTurn(Stream* stream) {
  const bool text_is_next =
      !stream->texts.empty() &&
      (!stream->pipe || stream->texts.front().after <= stream->read);
  if (text_is_next) {
    TakeText(stream);
  } else if (stream->pipe) {
    ReadPipe(stream);
  } else {
    EndIfOver(stream);
  }
}

void OutputPump::ReadPipe(Stream* stream) {
  uint64_t size = std::min<uint64_t>(kMaxOutputChunk, window_ - kept_bytes_);
  if (!stream->texts.empty()) {
    size = std::min(size, stream->texts.front().after - stream->read);
  }
  const ssize_t n = read(stream->pipe.get(), buffer_.get(), size);
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
    return ClosePipe(stream);
  }
  if (n > 0) {
    stream->read += static_cast<uint64_t>(n);
    Keep(*stream, Bytes(std::string(buffer_.get(), static_cast<size_t>(n))));
  } else if (errno == EAGAIN) {
    for (Text& text : stream->texts) text.after = stream->read;
  }
  if (n == static_cast<ssize_t>(size) || !stream->texts.empty()) {
    MakeReady(stream);
  } else {
    loop_->Rewatch(stream->pipe.get(), EPOLLIN | EPOLLONESHOT);
  }
}

void OutputPump::TakeText(Stream* stream) {
  Bytes& text = stream->texts.front().data;
  const size_t size =
      std::min<uint64_t>({kMaxOutputChunk, window_ - kept_bytes_, text.size()});
  Keep(*stream, text.Slice(0, size));
  waiting_bytes_ -= size;
  if (size < text.size()) {
    text = text.Slice(size, text.size());
  } else {
    stream->texts.pop_front();
    --waiting_texts_;
  }
  if (!stream->texts.empty() || !stream->pipe) return MakeReady(stream);
  loop_->Rewatch(stream->pipe.get(), EPOLLIN | EPOLLONESHOT);
}

void OutputPump::Keep(const Stream& stream, Bytes data) {
  kept_bytes_ += data.size();
  kept_.push_back({stream.rank, stream.channel, data});
  if (flowing_) emit_(stream.rank, stream.channel, std::move(data));
}

void OutputPump::ClosePipe(Stream* stream) {
  loop_->Unwatch(stream->pipe.get());
  stream->pipe.Reset();
  if (!stream->texts.empty()) return MakeReady(stream);
  EndIfOver(stream);
}

void OutputPump::EndIfOver(Stream* stream) {
  RankStreams& of_rank = ranks_.at(stream->rank);
  if (stream->pipe || stream->ended || !of_rank.process_ended) return;
  if (stream->texts.empty()) on_ending_(stream->rank, stream->channel);
  // The callback may have put texts. If these were consumed immediately, the
  // stream may have ended.
  if (!stream->texts.empty() || stream->ended) return;
  stream->ended = true;
  if (flowing_) emit_(stream->rank, stream->channel, Bytes());
  if (--of_rank.open == 0) on_end_(stream->rank);
}

void OutputPump::ProcessEnded(Rank rank) {
  const auto it = ranks_.find(rank);
  if (it == ranks_.end()) return;
  it->second.process_ended = true;
  for (Stream* stream : it->second.streams) EndIfOver(stream);
}

OutputPump::Stream* OutputPump::Find(Rank rank, uint16_t channel) const {
  const auto it = ranks_.find(rank);
  if (it == ranks_.end()) return nullptr;
  const auto found =
      std::ranges::find(it->second.streams, channel, &Stream::channel);
  return found == it->second.streams.end() ? nullptr : *found;
}

bool OutputPump::HasStream(Rank rank, uint16_t channel) const {
  return Find(rank, channel) != nullptr;
}

bool OutputPump::HasRoom(size_t texts, size_t bytes) const {
  return waiting_texts_ + texts <= kMaxTexts &&
         waiting_bytes_ + bytes <= kMaxWaitingText;
}

void OutputPump::Put(Rank rank, uint16_t channel, Bytes text) {
  Stream* const stream = Find(rank, channel);
  if (stream == nullptr || text.empty()) return;
  int in_pipe = 0;
  if (stream->pipe) ioctl(stream->pipe.get(), FIONREAD, &in_pipe);
  ++waiting_texts_;
  waiting_bytes_ += text.size();
  stream->texts.push_back(
      {stream->read + static_cast<uint64_t>(in_pipe), std::move(text)});
  MakeReady(stream);
  Pump();
}

void OutputPump::Resume() {
  flowing_ = true;
  for (const Chunk& chunk : kept_) emit_(chunk.rank, chunk.channel, chunk.data);
  for (const auto& stream : streams_) {
    if (stream->ended) emit_(stream->rank, stream->channel, Bytes());
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

bool OutputPump::IsOpen(Rank rank) const {
  const auto it = ranks_.find(rank);
  return it != ranks_.end() && it->second.open > 0;
}

bool OutputPump::IsHeldBack(Rank rank) const {
  return std::any_of(ready_.begin(), ready_.end(),
                     [rank](const Stream* s) { return s->rank == rank; });
}

}  // namespace canopy::process
