#include "server/rpc/deferred_reads.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace canopy::rpc {
namespace {

// The limit of a small message. A larger one is part of larger data, whose
// flow-control window should open at once.
constexpr size_t kSmall = 4096;
// Bytes that may arrive with a message: the headers of gRPC and HTTP/2 and,
// since the previous message, the window updates of stream and connection, in
// the worst case in a record of their own. If no updates arrive, the difference
// is too small to hide another message of more than 12 bytes.
constexpr size_t kHeaders = 14;
constexpr size_t kUpdates = 26;
// A connection is assigned to a reader when the sizes of this many messages in
// a row have matched the bytes received.
constexpr int kFitting = 3;

// Returns the bytes received on the connection since it was established.
std::optional<uint64_t> Arrived(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) {
    return std::nullopt;
  }
  return info.tcpi_bytes_received;
}

// Returns the received bytes that were not read yet.
uint64_t Unread(int fd) {
  int unread = 0;
  return ioctl(fd, SIOCINQ, &unread) == 0 ? static_cast<uint64_t>(unread) : 0;
}

}  // namespace

DeferredReads::~DeferredReads() {
  if (timer_set_) loop_->CancelTimer(timer_);
}

bool DeferredReads::Defer(Reader* reader, size_t bytes) {
  loop_->AssertOnThread();
  if (bytes > kSmall || !Fits(reader, bytes)) return false;
  reader->since_ = EventLoop::Now();
  ++num_deferred_;
  // If this round has found the connection readable, the reason was the message
  // that was just read.
  std::erase(readable_, reader->fd_);
  SetTimer();
  return true;
}

bool DeferredReads::Fits(Reader* reader, size_t bytes) {
  if (reader->fd_ < 0 && !Claim(reader)) return false;
  // Bytes that gRPC has not read yet are subtracted only if the total is too
  // large. Otherwise they do no harm, because the next wait finds the
  // connection readable.
  std::optional<uint64_t> taken = Arrived(reader->fd_);
  if (!taken.has_value()) {
    Forget(reader);
    return false;
  }
  const size_t longest = bytes + kHeaders + kUpdates + 2 * record_bytes_;
  if (*taken - reader->taken_ > longest) *taken -= Unread(reader->fd_);
  const uint64_t came = *taken - std::exchange(reader->taken_, *taken);
  if (came < bytes || came > longest) {
    reader->fitting_ = 0;
    return false;
  }
  reader->fitting_ = std::min(reader->fitting_ + 1, kFitting);
  return reader->fitting_ == kFitting;
}

// Assigns to the reader the connection that became readable in this round and
// has no reader yet, if there is exactly one.
bool DeferredReads::Claim(Reader* reader) {
  int found = -1;
  for (const int fd : readable_) {
    const bool taken =
        std::any_of(known_.begin(), known_.end(),
                    [fd](const Reader* other) { return other->fd_ == fd; });
    if (taken || fd == found) continue;
    if (found >= 0) return false;
    found = fd;
  }
  if (found < 0) return false;
  reader->fd_ = found;
  reader->fitting_ = 0;
  known_.push_back(reader);
  return true;
}

void DeferredReads::Forget(Reader* reader) {
  loop_->AssertOnThread();
  if (reader->since_ != 0) --num_deferred_;
  reader->since_ = 0;
  reader->fd_ = -1;
  std::erase(known_, reader);
}

bool DeferredReads::IsFound(const Reader* reader) const {
  return reader->since_ != 0 && std::find(readable_.begin(), readable_.end(),
                                          reader->fd_) != readable_.end();
}

bool DeferredReads::HaveReadable() const {
  loop_->AssertOnThread();
  return num_deferred_ > 0 && !readable_.empty() &&
         std::any_of(known_.begin(), known_.end(),
                     [this](const Reader* reader) {
                       loop_->AssertOnThread();
                       return IsFound(reader);
                     });
}

int DeferredReads::WakeIf(bool (*due)(const DeferredReads*, const Reader*)) {
  int woken = 0;
  // ResumeRead may remove readers, so the loop iterates over a copy.
  const std::vector<Reader*> all = known_;
  for (Reader* const reader : all) {
    if (num_deferred_ == 0) break;
    if (std::find(known_.begin(), known_.end(), reader) == known_.end()) {
      continue;
    }
    if (reader->since_ == 0 || !due(this, reader)) continue;
    reader->since_ = 0;
    --num_deferred_;
    ++woken;
    reader->ResumeRead();
  }
  return woken;
}

void DeferredReads::WakeAll() {
  loop_->AssertOnThread();
  WakeIf([](const DeferredReads*, const Reader*) { return true; });
}

void DeferredReads::WakeReadable() {
  loop_->AssertOnThread();
  if (!HaveReadable()) return;
  WakeIf([](const DeferredReads* reads, const Reader* reader) {
    reads->loop_->AssertOnThread();
    return reads->IsFound(reader);
  });
}

void DeferredReads::SetTimer() {
  if (std::exchange(timer_set_, true)) return;
  timer_ = loop_->AddTimer(kLongestNs / 2, [this] {
    loop_->AssertOnThread();
    timer_set_ = false;
    timed_out_ += WakeIf([](const DeferredReads*, const Reader* reader) {
      return EventLoop::Now() - reader->since_ >= kLongestNs / 2;
    });
    if (num_deferred_ > 0) SetTimer();
  });
}

}  // namespace canopy::rpc
