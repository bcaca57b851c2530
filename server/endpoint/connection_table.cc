#include "server/endpoint/connection_table.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <optional>
#include <set>
#include <utility>

#include "common/time_units.h"
#include "server/net/socket_state.h"
#include "server/ports/coarse_clock.h"

namespace canopy::endpoint {
namespace {

constexpr size_t kKeepPartial = 1 << 20;
// Bytes of the next message that may be read with the end of a large one.
constexpr size_t kReadAhead = 256 << 10;
// The handling of a message is reported if it takes at least this long.
constexpr int64_t kLongMs = 20;
constexpr int64_t kRetryNs = 2 * 1000 * 1000;
constexpr uint32_t kHangUps = EPOLLHUP | EPOLLRDHUP | EPOLLERR;

}  // namespace

ConnectionTable::ConnectionTable(EventLoop* loop, ConnectionHandler* handler,
                                 InputSink* sink,
                                 ConnectionTableOptions options)
    : loop_(loop),
      handler_(handler),
      sink_(sink),
      options_(std::move(options)),
      account_(options_.unfinished),
      memory_(loop),
      rotation_(loop, options_.budget,
                [this](core::ClientId client, Turn& turn) {
                  Connection* c = Find(client);
                  if (c == nullptr) return;
                  c->io.queued = false;
                  Serve(*c, turn);
                }),
      self_(std::make_shared<ConnectionTable*>(this)) {}

ConnectionTable::~ConnectionTable() {
  *self_ = nullptr;
  for (auto& [id, c] : connections_) {
    c->out.Flush(c->fd.get());
    Disconnect(*c);
  }
}

void ConnectionTable::Add(std::unique_ptr<Connection> connection) {
  Connection& c = *connection;
  const core::ClientId id = c.id;
  c.io.watched = options_.edge_events != 0 ? options_.edge_events : EPOLLIN;
  connections_.emplace(id, std::move(connection));
  loop_->Watch(c.fd.get(), c.io.watched,
               [this, id](uint32_t events) { OnEvents(id, events); });
}

Connection* ConnectionTable::Find(core::ClientId client) const {
  const auto it = connections_.find(client);
  return it == connections_.end() ? nullptr : it->second.get();
}

void ConnectionTable::SetDeadline(Connection& c, int64_t delay_ns,
                                  const char* reason) {
  CancelDeadline(c);
  c.io.deadline = loop_->AddTimer(delay_ns, [this, id = c.id, reason] {
    Connection* late = Find(id);
    if (late == nullptr) return;
    late->io.deadline = 0;
    End(*late, reason);
  });
}

void ConnectionTable::CancelDeadline(Connection& c) {
  loop_->CancelTimer(std::exchange(c.io.deadline, 0));
}

void ConnectionTable::End(Connection& c, const std::string& reason) {
  if (std::exchange(c.ending, true)) return;
  if (!reason.empty()) handler_->LogEnd(c, reason);
  MarkDirty(c);
}

void ConnectionTable::Disconnect(Connection& c) {
  ReleaseMessage(c);
  if (c.io.queued_bytes > 0) {
    account_.SetQueued(c.holder, std::exchange(c.io.queued_bytes, 0), 0);
  }
  loop_->CancelTimer(c.io.deadline);
  loop_->CancelTimer(c.io.retry);
  loop_->Unwatch(c.fd.get());
}

void ConnectionTable::Destroy(core::ClientId client) {
  const auto it = connections_.find(client);
  if (it == connections_.end()) return;
  const std::unique_ptr<Connection> c = std::move(it->second);
  connections_.erase(it);
  Disconnect(*c);
  handler_->OnClosed(*c);
  memory_.OnReleased();
}

// ---------------------------------------------------------------- reading ---

void ConnectionTable::OnEvents(core::ClientId client, uint32_t events) {
  Connection* c = Find(client);
  if (c == nullptr || c->ending) return;
  c->hung_up |= (events & kHangUps) != 0;
  if ((events & EPOLLOUT) != 0) MarkDirty(*c);
  if ((events & (EPOLLIN | kHangUps)) == 0) return;
  if (c->io.queued || c->io.held_back) return;
  if (c->io.awaits_room) {
    return End(*c, "ended while a message of " + std::to_string(c->awaited) +
                       " bytes waited for others of its job");
  }
  if (std::optional<Turn> turn = rotation_.BeginTurn()) {
    Serve(*c, *turn);
    rotation_.EndTurn(*turn);
  } else {
    Queue(*c);
  }
}

void ConnectionTable::Continue(Connection& c) {
  c.io.unhandled = true;
  Queue(c);
}

void ConnectionTable::Queue(Connection& c) {
  if (c.ending || std::exchange(c.io.queued, true)) return;
  rotation_.Queue(c.id);
}

void ConnectionTable::Serve(Connection& c, Turn& turn) {
  while (!c.ending && ServeOnce(c, turn)) {
    if (turn.Spent()) return Queue(c);
  }
}

// Handles the data left by the last turn, or otherwise the data that one Read
// returns. Returns true if more may be available without a further event.
bool ConnectionTable::ServeOnce(Connection& c, Turn& turn) {
  if (std::exchange(c.io.unhandled, false) && !c.partial.empty()) {
    c.partial.erase(0, HandleMessages(c, c.partial, &turn));
    Settle(c);
    return false;
  }
  if (c.io.awaits_room) return false;
  const std::string_view fresh = handler_->Read(c);
  if (fresh.empty() || c.ending) return false;
  if (options_.edge_events != 0) return HandleMessages(c, fresh, &turn) > 0;
  if (c.partial.empty()) {
    c.partial.assign(fresh.substr(HandleMessages(c, fresh, &turn)));
    Settle(c);
    return false;
  }
  c.partial.append(fresh);
  c.partial.erase(0, HandleMessages(c, c.partial, &turn));
  Settle(c);
  return false;
}

// Returns the length of the handled messages. A null `turn` means that there is
// no limit.
size_t ConnectionTable::HandleMessages(Connection& c, std::string_view data,
                                       Turn* turn) {
  size_t used = 0;
  while (!c.ending && used < data.size()) {
    c.awaited = 0;
    if (used > 0 && turn != nullptr && MustWait(c, *turn)) break;
    const int64_t began = CoarseMs();
    const size_t length = HandleOne(c, data.substr(used));
    // The core runs between two messages, so that the turn also bounds its
    // work.
    sink_->Drain();
    if (CoarseMs() - began >= kLongMs) {
      sink_->NoteWork(began, [&] {
        return "a message of " + std::to_string(length) + " bytes" +
               (c.holder.client.empty() ? "" : " of " + c.holder.client);
      });
    }
    if (length == 0) break;
    c.awaited = 0;
    used += length;
    if (turn != nullptr) turn->Charge(length);
  }
  return c.ending ? data.size() : used;
}

// Decodes a message and queues its inputs. If there is no memory for this, only
// the sender is affected, because the core has not received the message.
size_t ConnectionTable::HandleOne(Connection& c, std::string_view data) {
  try {
    return handler_->Handle(c, data);
  } catch (const std::bad_alloc&) {
    EndWithoutMemory(c, data.size());
    return 0;
  }
}

void ConnectionTable::EndWithoutMemory(Connection& c, size_t bytes) {
  End(c, "no memory for a message of " + std::to_string(bytes) + " bytes");
}

// Returns true if the next message must wait for a later turn. A connection
// whose queued answers exceed the limit gets its turn when there is room.
bool ConnectionTable::MustWait(Connection& c, Turn& turn) {
  c.io.held_back = c.out.size() > options_.pause_reading_bytes;
  if (c.io.held_back) {
    c.io.unhandled = true;
    return true;
  }
  if (!turn.Spent()) return false;
  Continue(c);
  return true;
}

void ConnectionTable::HandlePartial(Connection& c) {
  c.io.unhandled = false;
  c.partial.erase(0, HandleMessages(c, c.partial, nullptr));
}

size_t ConnectionTable::Receive(Connection& c, char* data, size_t size) {
  const ssize_t n = recv(c.fd.get(), data, size, MSG_DONTWAIT);
  if (n > 0) return static_cast<size_t>(n);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (n == 0) {
    End(c, c.partial.empty() ? "" : "ended in the middle of a message");
  } else {
    // A process that is killed leaves answers unread, which resets the
    // connection.
    End(c, errno == ECONNRESET ? "" : std::strerror(errno));
  }
  return 0;
}

// ---------------------------------------------------- unfinished messages ---

// Charges the client for the message that has arrived in part, if there is one,
// and releases the charge for the message before it. Nearly all messages arrive
// completely.
void ConnectionTable::Settle(Connection& c) {
  const size_t length = c.ending ? 0 : c.awaited;
  const size_t kept = std::max(length, c.partial.size()) + kReadAhead;
  if (c.partial.capacity() > kept + kKeepPartial) c.partial.shrink_to_fit();
  c.io.progressed = true;
  if (length == c.io.charged || c.io.awaits_room || c.holder.job.empty()) {
    return;
  }
  ReleaseMessage(c);
  if (length == 0 || (!IsBehindOthers(c) && ChargeMessage(c, length))) return;
  c.io.awaits_room = true;
  awaiting_room_.push_back(c.id);
  UpdateWatch(c, (c.io.watched & EPOLLOUT) != 0);
}

// Returns false if there is no room for the message now. The memory of a
// message that has room is reserved at once, so that the message is not copied
// as it grows.
bool ConnectionTable::ChargeMessage(Connection& c, size_t length) {
  if (!account_.Charge(c.holder, length)) return false;
  c.io.charged = length;
  WatchHalf(c);
  if (length <= kKeepPartial) return true;
  try {
    c.partial.reserve(length + kReadAhead);
  } catch (const std::bad_alloc&) {
    EndWithoutMemory(c, length);
  }
  return true;
}

// Returns true if a message of the same job is already waiting.
bool ConnectionTable::IsBehindOthers(const Connection& c) const {
  for (const core::ClientId id : awaiting_room_) {
    const Connection* other = Find(id);
    if (other != nullptr && other->holder.job == c.holder.job) return true;
  }
  return false;
}

void ConnectionTable::ReleaseMessage(Connection& c) {
  loop_->CancelTimer(std::exchange(c.io.half, 0));
  const size_t length = std::exchange(c.io.charged, 0);
  if (length == 0) return;
  account_.Release(c.holder, length);
  if (length > kKeepPartial) memory_.OnReleased();
  if (awaiting_room_.empty()) return;
  loop_->Defer([self = self_] {
    if (*self != nullptr) (*self)->AdmitWaiting();
  });
}

// Admits waiting messages, first come, first served within each job.
void ConnectionTable::AdmitWaiting() {
  std::set<std::string> blocked;
  for (const core::ClientId id : std::exchange(awaiting_room_, {})) {
    Connection* c = Find(id);
    if (c == nullptr || c->ending) continue;
    if (blocked.contains(c->holder.job) || !ChargeMessage(*c, c->awaited)) {
      blocked.insert(c->holder.job);
      awaiting_room_.push_back(id);
      continue;
    }
    c->io.awaits_room = false;
    UpdateWatch(*c, (c->io.watched & EPOLLOUT) != 0);
  }
}

void ConnectionTable::WatchHalf(Connection& c) {
  c.io.progressed = false;
  c.io.half = loop_->AddTimer(options_.half_message_ns, [this, id = c.id] {
    if (Connection* late = Find(id)) LookAtHalf(*late);
  });
}

// Ends a connection whose message made no progress. Bytes that wait in the
// socket show that this process is late, not the client.
void ConnectionTable::LookAtHalf(Connection& c) {
  c.io.half = 0;
  if (c.ending || c.io.charged == 0) return;
  if (c.io.progressed || net::HasUnread(c.fd.get()) || handler_->IsStopped(c)) {
    return WatchHalf(c);
  }
  End(c, "sent " + std::to_string(c.partial.size()) + " of " +
             std::to_string(c.awaited) +
             " bytes of a message, and nothing more for " +
             std::to_string(options_.half_message_ns / kNsPerSecond) + " s");
}

void ConnectionTable::SetReading(Connection& c, bool reading) {
  c.io.reading = reading;
  UpdateWatch(c, false);
}

// ---------------------------------------------------------------- writing ---

void ConnectionTable::MarkDirty(Connection& c) {
  loop_->AssertOnThread();
  if (std::exchange(c.io.dirty, true)) return;
  dirty_.push_back(c.id);
  if (dirty_.size() > 1) return;
  loop_->Defer([self = self_] {
    if (*self != nullptr) (*self)->FlushDirty();
  });
}

// Flushes in reverse order, because the core's last answer is for the process
// that reached a fence last, whose data is still in the CPU's cache.
void ConnectionTable::FlushDirty() {
  std::vector<core::ClientId> dirty;
  dirty.swap(dirty_);
  for (auto id = dirty.rbegin(); id != dirty.rend(); ++id) {
    Connection* c = Find(*id);
    if (c == nullptr) continue;
    c->io.dirty = false;
    Flush(*c);
  }
}

void ConnectionTable::Flush(Connection& c) {
  const OutQueue::State state = c.out.Flush(c.fd.get());
  if (c.ending || state == OutQueue::State::kBroken) return Destroy(c.id);
  if (QueuesTooMuch(c)) return End(c, "does not read its messages");
  handler_->OnFlushed(c);
  if (state == OutQueue::State::kBusy) RetryLater(c);
  UpdateWatch(c, state == OutQueue::State::kBlocked);
  if (!c.io.held_back || c.out.size() > options_.pause_reading_bytes) return;
  c.io.held_back = false;
  Queue(c);
}

bool ConnectionTable::QueuesTooMuch(Connection& c) {
  const size_t now = c.out.size();
  const size_t before = c.io.queued_bytes;
  if (now == before) return false;
  if (c.holder.job.empty()) return now > options_.max_queued_bytes;
  c.io.queued_bytes = now;
  return account_.SetQueued(c.holder, before, now) > options_.max_queued_bytes;
}

void ConnectionTable::RetryLater(Connection& c) {
  if (c.io.retry != 0) return;
  c.io.retry = loop_->AddTimer(kRetryNs, [this, id = c.id] {
    Connection* waiting = Find(id);
    if (waiting == nullptr) return;
    waiting->io.retry = 0;
    MarkDirty(*waiting);
  });
}

void ConnectionTable::UpdateWatch(Connection& c, bool blocked) {
  if (options_.edge_events != 0) return;
  uint32_t events = 0;
  if (c.io.reading && !c.io.awaits_room &&
      c.out.size() <= options_.pause_reading_bytes) {
    events |= EPOLLIN;
  }
  if (blocked) events |= EPOLLOUT;
  if (events == c.io.watched) return;
  c.io.watched = events;
  loop_->Rewatch(c.fd.get(), events);
}

}  // namespace canopy::endpoint
