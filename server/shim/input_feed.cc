#include "server/shim/input_feed.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "server/shim/pty.h"

namespace canopy::process {

InputFeed::InputFeed(EventLoop* loop, OnDone on_done) : loop_(loop) {
  outstanding_->done = std::move(on_done);
}

InputFeed::~InputFeed() {
  outstanding_->done = [](uint64_t) {};
  for (const auto& [rank, pipe] : pipes_) {
    if (pipe.waiting) loop_->Unwatch(pipe.fd.get());
  }
}

void InputFeed::Add(Rank rank, UniqueFd fd, bool is_terminal) {
  fcntl(fd.get(), F_SETFL, O_NONBLOCK);
  Pipe& pipe = pipes_[rank];
  pipe.fd = std::move(fd);
  if (is_terminal) pipe.terminal.emplace();
}

Bytes InputFeed::Track(std::string_view data) {
  outstanding_->pending += data.size();
  std::shared_ptr<const std::string> text(
      new std::string(data),
      [outstanding = outstanding_](const std::string* s) {
        outstanding->pending -= s->size();
        outstanding->done(s->size());
        delete s;
      });
  const std::string_view view = *text;
  return Bytes(std::move(text), view);
}

void InputFeed::Feed(const std::vector<Rank>& ranks, std::string_view data) {
  const Bytes piece = data.empty() ? Bytes() : Track(data);
  std::vector<Rank> targets = ranks;
  if (ranks.empty()) {
    for (const auto& [rank, pipe] : pipes_) targets.push_back(rank);
  }
  for (const Rank rank : targets) {
    const auto it = pipes_.find(rank);
    if (it == pipes_.end() || it->second.end_wanted) continue;
    FeedOne(rank, &it->second, piece);
  }
}

Bytes InputFeed::Decoded(Pipe* terminal, const Bytes& data) {
  std::optional<PtySize> size;
  std::string decoded = terminal->terminal->Decode(data.view(), &size);
  if (size) SetPtySize(terminal->fd.get(), *size);
  std::shared_ptr<const std::string> text(
      new std::string(std::move(decoded)),
      [data](const std::string* s) { delete s; });
  const std::string_view view = *text;
  return Bytes(std::move(text), view);
}

void InputFeed::FeedOne(Rank rank, Pipe* pipe, const Bytes& data) {
  if (data.empty()) {
    pipe->end_wanted = true;
  } else {
    Bytes text = pipe->terminal ? Decoded(pipe, data) : data;
    if (!text.empty()) pipe->queue.push_back(std::move(text));
  }
  if (!pipe->waiting) Write(rank);
}

void InputFeed::Write(Rank rank) {
  const auto it = pipes_.find(rank);
  if (it == pipes_.end()) return;
  Pipe& pipe = it->second;
  while (!pipe.queue.empty()) {
    Bytes& data = pipe.queue.front();
    const ssize_t n = write(pipe.fd.get(), data.view().data(), data.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != EAGAIN) return Close(rank);
    if (n < 0) break;
    data = data.Slice(static_cast<size_t>(n), data.size());
    if (data.empty()) pipe.queue.pop_front();
  }
  if (pipe.queue.empty() && pipe.end_wanted) return Close(rank);
  const bool wait = !pipe.queue.empty();
  if (wait == pipe.waiting) return;
  pipe.waiting = wait;
  if (!wait) return loop_->Unwatch(pipe.fd.get());
  loop_->Watch(pipe.fd.get(), EPOLLOUT,
               [this, rank](uint32_t) { Write(rank); });
}

void InputFeed::Close(Rank rank) {
  const auto it = pipes_.find(rank);
  if (it == pipes_.end()) return;
  if (it->second.waiting) loop_->Unwatch(it->second.fd.get());
  pipes_.erase(it);
}

}  // namespace canopy::process
