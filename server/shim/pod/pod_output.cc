#include "server/shim/pod/pod_output.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "server/shim/protocol.h"

namespace canopy::process {
namespace {

// Writes the whole text, or as much as a broken stream takes.
void WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n >= 0) {
      text.remove_prefix(static_cast<size_t>(n));
    } else if (errno == EAGAIN) {
      pollfd wait{fd, POLLOUT, 0};
      poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      return;
    }
  }
}

}  // namespace

std::string RankLines::Mark(Rank rank) const {
  return marks_ ? "[" + std::to_string(rank) + "] " : std::string();
}

std::string RankLines::Take(Rank rank, uint16_t channel,
                            std::string_view data) {
  if (!marks_) return std::string(data);
  std::string& rest = rest_[{channel, rank}];
  std::string out;
  for (size_t end = data.find('\n'); end != data.npos; end = data.find('\n')) {
    out += Mark(rank) + std::exchange(rest, "");
    out += data.substr(0, end + 1);
    data.remove_prefix(end + 1);
  }
  rest += data;
  if (rest.size() <= kMaxLine) return out;
  return out + Mark(rank) + std::exchange(rest, "") + "\n";
}

std::string RankLines::TakeRest(uint16_t channel) {
  std::string out;
  for (auto& [stream, rest] : rest_) {
    if (stream.first != channel || rest.empty()) continue;
    out += Mark(stream.second) + std::exchange(rest, "") + "\n";
  }
  return out;
}

PodOutput::PodOutput(int out, int err, bool marks, Written written)
    : out_(out),
      err_(err),
      written_(std::move(written)),
      lines_(marks),
      writer_([this] { Run(); }) {}

PodOutput::~PodOutput() {
  for (const uint16_t channel : {kChannelStdout, kChannelStderr}) {
    Queue({FdOf(channel), lines_.TakeRest(channel), 0});
  }
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  writer_.join();
}

int PodOutput::FdOf(uint16_t channel) const {
  return channel == kChannelStderr ? err_ : out_;
}

void PodOutput::Put(Rank rank, uint16_t channel, std::string_view data) {
  Queue({FdOf(channel), lines_.Take(rank, channel, data), data.size()});
}

void PodOutput::Queue(Piece piece) {
  {
    const std::lock_guard lock(mutex_);
    pieces_.push_back(std::move(piece));
  }
  changed_.notify_one();
}

void PodOutput::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !pieces_.empty(); });
    if (pieces_.empty()) return;
    const Piece piece = std::move(pieces_.front());
    pieces_.pop_front();
    lock.unlock();
    WriteAll(piece.fd, piece.text);
    if (piece.bytes > 0) written_(piece.bytes);
    lock.lock();
  }
}

}  // namespace canopy::process
