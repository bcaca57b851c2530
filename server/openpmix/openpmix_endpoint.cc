// Connections: from accept to close, and the bytes between. Who may connect is
// decided in openpmix_identity.cc, what is asked is served in
// openpmix_serve.cc.
#include "server/openpmix/openpmix_endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "server/openpmix/environment.h"
#include "server/openpmix/handshake.h"

namespace canopy::openpmix {
namespace {

constexpr size_t kBufferSize = 256 << 10;
constexpr size_t kKeepPartial = 1 << 20;
constexpr int kBacklog = 4096;

struct Address {
  sockaddr_storage storage = {};
  socklen_t size = 0;
};

Result<Address> ParseAddress(const std::string& text, uint16_t port) {
  Address address;
  auto* in = reinterpret_cast<sockaddr_in*>(&address.storage);
  auto* in6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (inet_pton(AF_INET, text.c_str(), &in->sin_addr) == 1) {
    in->sin_family = AF_INET;
    in->sin_port = htons(port);
    address.size = sizeof *in;
  } else if (inet_pton(AF_INET6, text.c_str(), &in6->sin6_addr) == 1) {
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(port);
    address.size = sizeof *in6;
  } else {
    return Status(kErrBadParam, "'" + text + "' is no numeric address");
  }
  return address;
}

Result<UniqueFd> Listen(const Address& address) {
  UniqueFd fd(socket(address.storage.ss_family,
                     SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int one = 1;
  if (address.storage.ss_family == AF_INET6) {
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
  }
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (!fd ||
      bind(fd.get(), reinterpret_cast<const sockaddr*>(&address.storage),
           address.size) != 0 ||
      listen(fd.get(), kBacklog) != 0) {
    return Status(kErrUnreach, std::string("cannot listen for programs with "
                                           "their own OpenPMIx library: ") +
                                   std::strerror(errno));
  }
  return fd;
}

bool IsListening(int fd) {
  int listens = 0;
  socklen_t size = sizeof listens;
  return fd >= 0 &&
         getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 &&
         listens != 0;
}

uint16_t PortOf(int fd) {
  sockaddr_storage storage = {};
  socklen_t size = sizeof storage;
  getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size);
  return ntohs(storage.ss_family == AF_INET6
                   ? reinterpret_cast<sockaddr_in6*>(&storage)->sin6_port
                   : reinterpret_cast<sockaddr_in*>(&storage)->sin_port);
}

}  // namespace

OpenPmixEndpoint::OpenPmixEndpoint(EventLoop* loop, InputSink* sink,
                                   OpenPmixOptions options)
    : loop_(loop),
      sink_(sink),
      options_(std::move(options)),
      buffer_(kBufferSize),
      self_(std::make_shared<OpenPmixEndpoint*>(this)) {
  if (options_.proof == nullptr) options_.proof = MakeHostPeerProof();
}

OpenPmixEndpoint::~OpenPmixEndpoint() {
  *self_ = nullptr;
  for (auto& [id, c] : connections_) {
    loop_->CancelTimer(c->hello_timer);
    c->out.Flush(c->fd.get());
    loop_->Unwatch(c->fd.get());
  }
  if (acceptor_) loop_->Unwatch(acceptor_.fd());
}

uint16_t OpenPmixEndpoint::port() const { return PortOf(acceptor_.fd()); }

Status OpenPmixEndpoint::Start(UniqueFd former) {
  Result<Address> address = ParseAddress(options_.address, options_.port);
  if (!address.ok()) return address.status();
  Result<UniqueFd> listener = UniqueFd();
  if (IsListening(former.get())) {
    listener = std::move(former);
  } else {
    listener = Listen(*address);
  }
  if (!listener.ok() && options_.port != 0) {
    address = ParseAddress(options_.address, 0);
    listener = Listen(*address);
  }
  if (!listener.ok()) return listener.status();
  acceptor_ = Acceptor(std::move(*listener));
  const bool v6 = address->storage.ss_family == AF_INET6;
  address_ = (v6 ? "[" + options_.address + "]" : options_.address) + ":" +
             std::to_string(PortOf(acceptor_.fd()));
  uri_ = ServerUri(options_.server, address_);
  loop_->Watch(acceptor_.fd(), EPOLLIN, [this](uint32_t) { OnAcceptable(); });
  if (options_.tool_dir.empty()) return Status();
  Result<ToolFile> file = ToolFile::Write(options_.tool_dir, uri_);
  if (!file.ok()) return file.status();
  tool_file_ = *std::move(file);
  return Status();
}

void OpenPmixEndpoint::Log(core::LogLine::Level level, std::string text) {
  if (options_.log) options_.log({level, std::move(text)});
}

// ------------------------------------------------------------ connections ---

void OpenPmixEndpoint::OnAcceptable() {
  const bool refused = acceptor_.Accept(
      [this](UniqueFd fd) { AddConnection(std::move(fd), 0); });
  if (!refused) return;
  Log(core::LogLine::Level::kError,
      "no descriptor left: refusing connections of programs with their own "
      "OpenPMIx library; raise the agent's limit on open files");
}

// Any process of the machine can reach the port, so nothing is buffered for an
// unidentified peer.
void OpenPmixEndpoint::AddConnection(UniqueFd fd, core::ClientId number) {
  const Result<SocketOwner> owner = options_.proof->OwnerOf(fd.get());
  if (!owner.ok()) return;
  if (!IsServedUser(owner->uid)) {
    return Log(core::LogLine::Level::kWarning, "refusing a connection of uid " +
                                                   std::to_string(owner->uid) +
                                                   ", which has no job here");
  }
  const int one = 1;
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (unidentified_.size() >= options_.max_unidentified) {
    DropOldestUnidentified();
  }
  auto connection = std::make_unique<Connection>();
  Connection& c = *connection;
  c.id = number != 0 ? number
                     : MakeClientId(ClientKind::kOpenPmix, next_number_++);
  c.fd = std::move(fd);
  c.owner = *owner;
  c.watched = EPOLLIN;
  const core::ClientId id = c.id;
  unidentified_.insert(id);
  connections_.emplace(id, std::move(connection));
  SetHelloTimer(c, "did not say who it is in time");
  OfferToShims(c);
  loop_->Watch(c.fd.get(), EPOLLIN,
               [this, id](uint32_t events) { OnEvents(id, events); });
}

void OpenPmixEndpoint::DropOldestUnidentified() {
  const core::ClientId oldest = *unidentified_.begin();
  Log(core::LogLine::Level::kWarning,
      "too many connections that do not say who they are; dropping the "
      "oldest");
  Destroy(oldest);
}

void OpenPmixEndpoint::SetHelloTimer(Connection& c, const char* reason) {
  loop_->CancelTimer(c.hello_timer);
  c.hello_timer =
      loop_->AddTimer(options_.hello_timeout_ns, [this, id = c.id, reason] {
        Connection* late = Find(id);
        if (late == nullptr) return;
        late->hello_timer = 0;
        End(*late, reason);
      });
}

Connection* OpenPmixEndpoint::Find(core::ClientId client) {
  const auto it = connections_.find(client);
  return it == connections_.end() ? nullptr : it->second.get();
}

void OpenPmixEndpoint::End(Connection& c, const std::string& reason) {
  if (c.state == Connection::State::kEnding) return;
  c.state = Connection::State::kEnding;
  if (!reason.empty()) {
    const std::string who =
        c.proc.nspace.empty() ? "of unknown rank" : "of " + ToString(c.proc);
    Log(core::LogLine::Level::kWarning,
        "closing OpenPMIx connection " + who + " (uid " +
            std::to_string(c.owner.uid) + "): " + reason);
  }
  MarkDirty(c);
}

void OpenPmixEndpoint::Destroy(core::ClientId id) {
  const auto it = connections_.find(id);
  const std::unique_ptr<Connection> c = std::move(it->second);
  connections_.erase(it);
  unidentified_.erase(id);
  loop_->CancelTimer(c->hello_timer);
  loop_->Unwatch(c->fd.get());
  AppendEnd(*c);
  c->fd.Reset();
  if (c->is_tool) --tools_;
  if (!c->identified) return;
  LocalRank* rank = c->is_tool ? nullptr : FindRank(c->proc);
  if (rank != nullptr) --rank->connections;
  sink_->OnInput(core::ClientGone{id});
}

// ---------------------------------------------------------------- reading ---

void OpenPmixEndpoint::OnEvents(core::ClientId id, uint32_t events) {
  Connection* c = Find(id);
  if (c == nullptr || c->state == Connection::State::kEnding) return;
  if ((events & EPOLLOUT) != 0) MarkDirty(*c);
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) Receive(*c);
}

void OpenPmixEndpoint::Receive(Connection& c) {
  // Nothing is watched for then but the end.
  if (c.greeting != 0) return End(c, "");
  if (!c.held_by.empty() && c.state == Connection::State::kNew &&
      c.partial.empty()) {
    return ReceiveGreeting(c);
  }
  ConnectionLog::Reservation room{buffer_.data(), buffer_.size()};
  const bool logged = c.connection_log != nullptr && c.connection_log->ok();
  if (logged) room = c.connection_log->BeginRead(c.id, c.received);
  if (room.data == nullptr) room = {buffer_.data(), buffer_.size()};
  const ssize_t n = recv(c.fd.get(), room.data, room.size, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  // A process that is killed leaves answers unread, which resets.
  if (n < 0) return End(c, errno == ECONNRESET ? "" : std::strerror(errno));
  if (n == 0) {
    return End(c, c.partial.empty() ? "" : "ended in the middle of a message");
  }
  const std::string_view data(room.data, static_cast<size_t>(n));
  if (logged) c.connection_log->EndRead(data.size());
  c.received += data.size();
  if (c.partial.empty()) {
    const size_t used = HandleMessages(c, data);
    c.partial.assign(data.substr(used));
    return;
  }
  c.partial.append(data);
  HandlePartial(c);
}

// Leaves it where it is until the peer is accepted, so that another agent can
// begin anew with it.
void OpenPmixEndpoint::ReceiveGreeting(Connection& c) {
  const ssize_t n =
      recv(c.fd.get(), buffer_.data(), buffer_.size(), MSG_PEEK | MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return End(c, "");
  const std::string_view data(buffer_.data(), static_cast<size_t>(n));
  c.greeting = HandleConnect(c, data);
  if (c.state == Connection::State::kEnding) return;
  if (c.state == Connection::State::kServing) return TakeGreeting(c);
  if (c.state == Connection::State::kWaiting) {
    c.watched = 0;
    return loop_->Rewatch(c.fd.get(), 0);
  }
  // In pieces, which would wake the loop for ever.
  recv(c.fd.get(), buffer_.data(), data.size(), MSG_DONTWAIT);
  c.received += data.size();
  c.partial.assign(data);
}

void OpenPmixEndpoint::TakeGreeting(Connection& c) {
  c.received = c.greeting;
  Persist(c, "");
  recv(c.fd.get(), buffer_.data(), c.greeting, MSG_DONTWAIT);
  c.greeting = 0;
  WatchFor(c, false);
}

void OpenPmixEndpoint::HandlePartial(Connection& c) {
  const size_t used = HandleMessages(c, c.partial);
  c.partial.erase(0, used);
  if (c.partial.empty() && c.partial.capacity() > kKeepPartial) {
    c.partial.shrink_to_fit();
  }
}

size_t OpenPmixEndpoint::HandleMessages(Connection& c, std::string_view data) {
  size_t used = 0;
  for (;;) {
    size_t length = 0;
    switch (c.state) {
      case Connection::State::kNew:
        length = HandleConnect(c, data.substr(used));
        if (c.state == Connection::State::kServing) {
          Persist(c, data.substr(used + length));
        }
        break;
      case Connection::State::kWaiting:
        if (data.size() - used > kMaxConnectPayload) {
          End(c, "sends requests before it was accepted");
        }
        break;
      case Connection::State::kServing:
        length = HandleMessage(c, data.substr(used));
        break;
      case Connection::State::kEnding:
        return data.size();
    }
    if (length == 0 && c.state != Connection::State::kEnding) return used;
    used += length;
  }
}

size_t OpenPmixEndpoint::HandleConnect(Connection& c, std::string_view data) {
  if (data.size() < kHeaderSize) return 0;
  const std::optional<uint32_t> length = ParseConnectHeader(data);
  if (!length) {
    End(c, "does not speak OpenPMIx's protocol");
    return 0;
  }
  if (*length > kMaxConnectPayload) {
    End(c, "sent a greeting of " + std::to_string(*length) + " bytes");
    return 0;
  }
  if (data.size() - kHeaderSize < *length) return 0;
  const Status status = Greet(c, data.substr(kHeaderSize, *length));
  if (!status.ok()) End(c, status.message());
  return kHeaderSize + *length;
}

size_t OpenPmixEndpoint::HandleMessage(Connection& c, std::string_view data) {
  if (data.size() < kHeaderSize) return 0;
  const MessageHeader header = ParseHeader(data);
  if (header.length > options_.max_payload) {
    End(c, "sent a message of " + std::to_string(header.length) + " bytes");
    return 0;
  }
  if (data.size() - kHeaderSize < header.length) return 0;
  // Heartbeats, and what later versions may send unasked, want no answer.
  if (header.tag >= kFirstRequestTag) {
    HandleRequest(c, header.tag, data.substr(kHeaderSize, header.length));
  }
  return kHeaderSize + header.length;
}

// ---------------------------------------------------------------- writing ---

void OpenPmixEndpoint::MarkDirty(Connection& c) {
  if (std::exchange(c.dirty, true)) return;
  dirty_.push_back(c.id);
  if (dirty_.size() > 1) return;
  loop_->Defer([self = self_] {
    if (*self != nullptr) (*self)->FlushDirty();
  });
}

void OpenPmixEndpoint::FlushDirty() {
  std::vector<core::ClientId> dirty;
  dirty.swap(dirty_);
  // Who came last to a fence is answered last by the core, and has what it
  // needs still in the CPU's cache.
  for (auto id = dirty.rbegin(); id != dirty.rend(); ++id) {
    Connection* c = Find(*id);
    if (c == nullptr) continue;
    c->dirty = false;
    Flush(*c);
  }
}

void OpenPmixEndpoint::Flush(Connection& c) {
  const OutQueue::State state = c.out.Flush(c.fd.get());
  if (c.state == Connection::State::kEnding) return Destroy(c.id);
  if (state == OutQueue::State::kBroken) return Destroy(c.id);
  if (c.out.size() > options_.max_queued_bytes) {
    return End(c, "does not read what is sent to it");
  }
  if (c.connection_log != nullptr) AppendUnsent(c);
  WatchFor(c, !c.out.empty());
}

void OpenPmixEndpoint::WatchFor(Connection& c, bool blocked) {
  uint32_t events = 0;
  if (c.out.size() <= options_.pause_reading_bytes) events |= EPOLLIN;
  if (blocked) events |= EPOLLOUT;
  if (events == c.watched) return;
  c.watched = events;
  loop_->Rewatch(c.fd.get(), events);
}

void OpenPmixEndpoint::Close(core::ClientId client, const std::string& reason) {
  if (Connection* c = Find(client)) End(*c, reason);
}

}  // namespace canopy::openpmix
