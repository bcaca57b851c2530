#include "server/openpmix/openpmix_endpoint.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "server/endpoint/process_state.h"
#include "server/net/socket_state.h"
#include "server/net/tcp_listener.h"
#include "server/openpmix/environment.h"
#include "server/openpmix/handshake.h"
#include "server/openpmix/requests.h"

namespace canopy::openpmix {
namespace {

constexpr size_t kBufferSize = 256 << 10;

bool IsOfOtherUser(const Connection& c) { return c.owner.uid != geteuid(); }

// Returns the group of a peer. For a TCP connection the kernel reports only the
// user.
uint32_t GroupOf(const Connection& c) {
  return IsOfOtherUser(c) ? core::kUnknownGroup : getegid();
}

// The number of connection numbers that a recovery skips. Connections that a
// former agent has closed left no trace, and there are fewer of them than this.
constexpr uint64_t kClosedSince = 1 << 16;

bool IsListening(int fd) {
  int listens = 0;
  socklen_t size = sizeof listens;
  return fd >= 0 &&
         getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 &&
         listens != 0;
}

endpoint::ConnectionTableOptions TableOptions(const OpenPmixOptions& options) {
  endpoint::ConnectionTableOptions table;
  table.budget = options.budget;
  table.pause_reading_bytes = options.pause_reading_bytes;
  table.max_queued_bytes = options.max_queued_bytes;
  table.unfinished = options.unfinished;
  table.half_message_ns = options.half_message_ns;
  return table;
}

OpenPmixOptions WithDefaults(OpenPmixOptions options) {
  if (options.proof == nullptr) options.proof = MakeHostPeerProof();
  return options;
}

}  // namespace

OpenPmixEndpoint::OpenPmixEndpoint(EventLoop* loop, InputSink* sink,
                                   OpenPmixOptions options)
    : loop_(loop),
      options_(WithDefaults(std::move(options))),
      sink_(sink),
      buffer_(kBufferSize),
      jobs_(options_.self),
      connections_(loop, this, sink_, TableOptions(options_)),
      gate_(loop, GateParts()),
      persistence_(&options_, &jobs_,
                   [this](core::ClientId id) { return connections_.Find(id); }),
      admission_(&options_, &jobs_),
      writer_(&connections_, &persistence_, options_.max_payload),
      text_logger_(&options_, &connections_, &writer_),
      pullers_(options_.server, &writer_, sink_),
      requests_({&options_, &jobs_, &connections_, &persistence_, &writer_,
                 &text_logger_, &pullers_, sink_}),
      recovery_({&options_, &jobs_, &connections_, &persistence_, &requests_,
                 &text_logger_, sink_}) {}

uint16_t OpenPmixEndpoint::port() const { return net::PortOf(listener()); }

Status OpenPmixEndpoint::Start(UniqueFd former) {
  Result<UniqueFd> listener = UniqueFd();
  if (IsListening(former.get())) {
    listener = std::move(former);
  } else {
    listener = net::ListenTcp(options_.address, options_.port);
  }
  if (!listener.ok() && options_.port != 0) {
    listener = net::ListenTcp(options_.address, 0);
  }
  if (!listener.ok()) {
    return Status(listener.code(),
                  "programs with their own OpenPMIx library are not served: " +
                      listener.status().message());
  }
  address_ = net::AddressOf(options_.address, listener->get());
  uri_ = ServerUri(options_.server, address_);
  Listen(std::move(*listener));
  Result<ToolFile> file =
      ToolFile::Write(options_.tool_files,
                      {options_.server.nspace, uri_, options_.tool_socket});
  if (!file.ok()) return file.status();
  tool_file_ = *std::move(file);
  return Status();
}

void OpenPmixEndpoint::Log(core::LogLine::Level level, std::string text) {
  if (options_.log) options_.log({level, std::move(text)});
}

// ------------------------------------------------------------ connections ---

void OpenPmixEndpoint::Listen(UniqueFd listener) {
  listener_.emplace(
      loop_, std::move(listener),
      [this](UniqueFd fd) { AddConnection(std::move(fd), 0); },
      [this] {
        Log(core::LogLine::Level::kError,
            "no descriptor left: refusing connections of programs with their "
            "own OpenPMIx library; raise the agent's limit on open files");
      },
      options_.accept);
}

// Buffers nothing for an unidentified peer, because any process of the machine
// can connect to the port.
void OpenPmixEndpoint::AddConnection(UniqueFd fd, core::ClientId number) {
  const Result<SocketOwner> owner = options_.proof->OwnerOf(fd.get());
  if (!owner.ok()) return;
  const net::Source source = net::SourceOfUser(owner->uid);
  if (!gate_.Admits(fd.get(), source)) return;
  const int one = 1;
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  persistence_.Offer(Add(std::move(fd), number, *owner, source));
}

// A relayed connection needs no recovery, because the stream that carries it
// ends with this process too.
void OpenPmixEndpoint::Adopt(UniqueFd fd) {
  const net::Source source = endpoint::Gate::Relayed();
  if (!gate_.Admits(fd.get(), source)) return;
  Add(std::move(fd), 0, {geteuid(), 0}, source).relayed = true;
}

endpoint::Gate::Parts OpenPmixEndpoint::GateParts() {
  endpoint::Gate::Parts gate;
  gate.limits = options_.silence;
  gate.has_job = [this](uint32_t uid) { return jobs_.HasJobOf(uid); };
  gate.has_unread = [this](core::ClientId id) {
    // Data that was peeked at may still be in the socket.
    const Connection* c = connections_.Find(id);
    return c->state == Connection::State::kNew && net::HasUnread(c->fd.get());
  };
  gate.close = [this](core::ClientId id, const char* reason) {
    LogEnd(*connections_.Find(id), reason);
    connections_.Destroy(id);
  };
  gate.log = options_.log;
  gate.serves_all_users = options_.serves_all_users;
  return gate;
}

Connection& OpenPmixEndpoint::Add(UniqueFd fd, core::ClientId number,
                                  const SocketOwner& owner,
                                  const net::Source& source) {
  auto connection = std::make_unique<Connection>();
  Connection& c = *connection;
  c.id = number != 0 ? number
                     : MakeClientId(ClientKind::kOpenPmix, next_number_++);
  c.fd = std::move(fd);
  c.owner = owner;
  unidentified_.insert(c.id);
  connections_.Add(std::move(connection));
  gate_.Add(c.id, source);
  return c;
}

void OpenPmixEndpoint::LogEnd(const endpoint::Connection& connection,
                              const std::string& reason) {
  const auto& c = static_cast<const Connection&>(connection);
  const std::string who =
      c.proc.nspace.empty() ? "of unknown rank" : "of " + ToString(c.proc);
  gate_.Warn(net::SourceOfUser(c.owner.uid),
             "closing OpenPMIx connection " + who + " (uid " +
                 std::to_string(c.owner.uid) + "): " + reason);
}

void OpenPmixEndpoint::OnClosed(endpoint::Connection& connection) {
  auto& c = static_cast<Connection&>(connection);
  SetIdentified(c);
  persistence_.End(c);
  c.fd.Reset();
  admission_.OnClosed(c);
  pullers_.OnClosed(c);
  if (c.identified) sink_->OnInput(core::ClientGone{c.id});
}

bool OpenPmixEndpoint::IsStopped(const endpoint::Connection& connection) const {
  const auto& c = static_cast<const Connection&>(connection);
  const auto* rank = c.is_tool ? nullptr : jobs_.FindRank(c.proc);
  return rank != nullptr && endpoint::IsStopped(rank->pid);
}

void OpenPmixEndpoint::SetIdentified(const Connection& c) {
  unidentified_.erase(c.id);
  gate_.Remove(c.id);
}

void OpenPmixEndpoint::OnFlushed(endpoint::Connection& connection) {
  auto& c = static_cast<Connection&>(connection);
  persistence_.AddUnsent(c);
  pullers_.OnFlushed(c);
}

void OpenPmixEndpoint::Close(core::ClientId client, const std::string& reason) {
  if (Connection* c = connections_.Find(client)) connections_.End(*c, reason);
}

// ---------------------------------------------------------------- reading ---

// Reads into the connection's log if it has one, so that no byte is lost
// between the kernel and a record.
std::string_view OpenPmixEndpoint::Read(endpoint::Connection& connection) {
  auto& c = static_cast<Connection&>(connection);
  if (c.greeting != 0) {
    // Input is not read in this state; only the end of the connection is
    // awaited.
    connections_.End(c, "");
    return {};
  }
  if (!c.held_by.empty() && c.state == Connection::State::kNew &&
      c.partial.empty()) {
    return ReadGreeting(c);
  }
  ConnectionLog::Reservation room{buffer_.data(), buffer_.size()};
  const bool logged = c.connection_log != nullptr && c.connection_log->ok();
  if (logged) room = c.connection_log->BeginRead(c.id, c.received);
  if (room.data == nullptr) room = {buffer_.data(), buffer_.size()};
  const size_t size = connections_.Receive(c, room.data, room.size);
  if (logged && size > 0) c.connection_log->EndRead(size);
  c.received += size;
  return {room.data, size};
}

// Leaves the greeting in the socket until the peer is accepted, so that a
// successor can begin with the greeting.
std::string_view OpenPmixEndpoint::ReadGreeting(Connection& c) {
  const ssize_t n =
      recv(c.fd.get(), buffer_.data(), buffer_.size(), MSG_PEEK | MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  if (n <= 0) {
    connections_.End(c, "");
    return {};
  }
  const std::string_view data(buffer_.data(), static_cast<size_t>(n));
  c.greeting = HandleConnect(c, data);
  if (c.ending) return {};
  if (c.state == Connection::State::kServing) {
    TakeGreeting(c);
    return {};
  }
  if (c.state == Connection::State::kWaiting ||
      c.state == Connection::State::kProved) {
    connections_.SetReading(c, false);
    return {};
  }
  // The greeting arrives in pieces. If they were left in the socket, they would
  // wake the loop continuously.
  recv(c.fd.get(), buffer_.data(), data.size(), MSG_DONTWAIT);
  c.received += data.size();
  return data;
}

void OpenPmixEndpoint::TakeGreeting(Connection& c) {
  c.received = c.greeting;
  persistence_.Begin(c, "");
  recv(c.fd.get(), buffer_.data(), c.greeting, MSG_DONTWAIT);
  c.greeting = 0;
  connections_.SetReading(c, true);
}

size_t OpenPmixEndpoint::Handle(endpoint::Connection& connection,
                                std::string_view data) {
  auto& c = static_cast<Connection&>(connection);
  if (c.state == Connection::State::kServing) return HandleMessage(c, data);
  if (c.state != Connection::State::kNew) {
    if (data.size() > kMaxConnectPayload) {
      connections_.End(c, "sends requests before it was accepted");
    }
    return 0;
  }
  const size_t length = HandleConnect(c, data);
  if (c.serving()) persistence_.Begin(c, data.substr(length));
  return length;
}

size_t OpenPmixEndpoint::HandleConnect(Connection& c, std::string_view data) {
  if (data.size() < kHeaderSize) return AwaitRest(c);
  const std::optional<uint32_t> length = ParseConnectHeader(data);
  if (!length) {
    connections_.End(c, "does not speak OpenPMIx's protocol");
    return 0;
  }
  if (*length > kMaxConnectPayload) {
    connections_.End(
        c, "sent a greeting of " + std::to_string(*length) + " bytes");
    return 0;
  }
  if (data.size() - kHeaderSize < *length) return AwaitRest(c);
  OnAdmission(c, admission_.Greet(c, data.substr(kHeaderSize, *length)));
  return kHeaderSize + *length;
}

// Sets a deadline for the rest of a greeting that has begun.
size_t OpenPmixEndpoint::AwaitRest(Connection& c) {
  if (!connections_.HasDeadline(c)) {
    connections_.SetDeadline(c, options_.silence.timeout_ns,
                             "did not identify itself in time");
  }
  return 0;
}

void OpenPmixEndpoint::OnAdmission(Connection& c, const Status& status) {
  if (!status.ok()) return connections_.End(c, status.message());
  if (c.state == Connection::State::kWaiting) {
    return connections_.SetDeadline(c, options_.process_timeout_ns,
                                    "claims a rank that was not started");
  }
  if (!options_.ask) return Admit(c, {});
  connections_.CancelDeadline(c);
  // A connection that waits for the host's decision is not silent.
  SetIdentified(c);
  options_.ask(
      {c.proc, c.is_tool, c.owner.uid, GroupOf(c), c.relayed,
       std::exchange(c.credential, {})},
      [this, id = c.id](const endpoint::Verdict& v) { AdmitLater(id, v); });
}

void OpenPmixEndpoint::AdmitLater(core::ClientId id,
                                  const endpoint::Verdict& verdict) {
  Connection* c = connections_.Find(id);
  if (c == nullptr || c->ending) return;
  Admit(*c, verdict);
  if (!c->serving()) return;
  // The log of a rank began when its greeting was handled, because a rank does
  // not wait for the host. The log of a tool begins now.
  if (c->greeting != 0) {
    TakeGreeting(*c);
  } else if (c->is_tool) {
    persistence_.Begin(*c, c->partial);
  }
  connections_.Continue(*c);
}

void OpenPmixEndpoint::Admit(Connection& c, const endpoint::Verdict& verdict) {
  if (verdict.status != kSuccess) {
    return connections_.End(c, endpoint::TextOf(verdict));
  }
  const Status admitted = admission_.Admit(c, verdict.name);
  if (!admitted.ok()) return connections_.End(c, admitted.message());
  SetIdentified(c);
  connections_.CancelDeadline(c);
  c.identified = true;
  c.holder = {c.is_tool ? endpoint::ToolsOf(c.owner.uid) : c.proc.nspace,
              ToString(c.proc)};
  connections_.MarkDirty(c);
  sink_->OnInput(core::ClientConnected{c.id, c.proc, c.is_tool, c.owner.uid,
                                       GroupOf(c),
                                       c.is_tool && IsOfOtherUser(c)});
}

// Returns the limit for the command with which the message begins.
uint32_t OpenPmixEndpoint::LimitOf(const Connection& c,
                                   std::string_view begin) const {
  return std::min(options_.max_payload, MaxPayloadOf(c.traits, begin));
}

size_t OpenPmixEndpoint::HandleMessage(Connection& c, std::string_view data) {
  c.awaited = kHeaderSize;
  if (data.size() < kHeaderSize) return 0;
  const MessageHeader header = ParseHeader(data);
  c.awaited = kHeaderSize + header.length;
  const bool is_whole = data.size() >= c.awaited;
  // A message that has arrived with one read is shorter than every limit.
  if (header.length > options_.max_payload ||
      (!is_whole && header.length > LimitOf(c, data.substr(kHeaderSize)))) {
    connections_.End(
        c, "sent a message of " + std::to_string(header.length) + " bytes");
    return 0;
  }
  if (!is_whole) return 0;
  // A message with a lower tag is not a request and gets no answer. Later
  // versions may send unknown ones, which are ignored.
  if (header.tag >= kFirstRequestTag) {
    requests_.Handle(c, header.tag, data.substr(kHeaderSize, header.length));
  } else if (header.tag == kHeartbeatTag && options_.on_heartbeat) {
    options_.on_heartbeat(c.proc);
  }
  return kHeaderSize + header.length;
}

// ----------------------------------------------------- calls of the core ---

void OpenPmixEndpoint::Reply(const core::ReplyClient& reply) {
  Connection* c = connections_.Find(reply.client);
  if (c != nullptr && c->serving()) requests_.Reply(*c, reply);
}

void OpenPmixEndpoint::Notify(const core::NotifyClient& event) {
  Connection* c = connections_.Find(event.client);
  if (c != nullptr && c->serving()) requests_.Notify(*c, *event.event);
}

// ------------------------------------------------------ jobs and processes ---

void OpenPmixEndpoint::AddJob(const core::RegisterJob& registration) {
  jobs_.Add(registration);
}

void OpenPmixEndpoint::DropJob(const std::string& nspace) {
  jobs_.Drop(nspace);
  connections_.ForEach([&](Connection& c) {
    if (!c.is_tool && c.proc.nspace == nspace) {
      connections_.End(c, "its job is over");
    }
  });
}

size_t OpenPmixEndpoint::num_job_infos(const std::string& nspace) const {
  const Jobs::Job* job = jobs_.Find(nspace);
  return job == nullptr ? 0 : job->infos.size();
}

std::vector<std::string> OpenPmixEndpoint::ForJob(const core::PrepareLocal&) {
  return ServerEnvironment(options_.server, address_);
}

std::vector<std::string> OpenPmixEndpoint::ForRank(const core::PrepareLocal&,
                                                   Rank) {
  return {};
}

ProcessEnvironment::InheritedFd OpenPmixEndpoint::FdForRank(
    const core::PrepareLocal&, Rank) {
  return {};
}

// Also identifies connections that the process made before its pid was
// reported.
void OpenPmixEndpoint::OnProcess(const std::string& nspace, Rank rank,
                                 int pid) {
  if (!jobs_.SetPid({nspace, rank}, pid)) return;
  // A pid of 0 means that the process has ended. The rank's next process must
  // read its new incarnation, so the encoded job info is obsolete.
  if (pid == 0) jobs_.Find(nspace)->infos.clear();
  std::vector<core::ClientId> waiting;
  for (const core::ClientId id : unidentified_) {
    const Connection* c = connections_.Find(id);
    if (c->state == Connection::State::kWaiting && c->proc.rank == rank &&
        c->proc.nspace == nspace) {
      waiting.push_back(id);
    }
  }
  for (const core::ClientId id : waiting) IdentifyWaiting(id);
}

void OpenPmixEndpoint::IdentifyWaiting(core::ClientId id) {
  Connection* c = connections_.Find(id);
  if (c == nullptr || c->ending) return;
  OnAdmission(*c, admission_.Identify(*c));
  if (!c->serving()) return;
  if (c->greeting != 0) {
    TakeGreeting(*c);
  } else {
    persistence_.Begin(*c, c->partial);
  }
  connections_.Continue(*c);
}

// --------------------------------------------------------------- recovery ---

bool OpenPmixEndpoint::IsPersistedName(std::string_view name) {
  return name.starts_with(kPersistedPrefix);
}

void OpenPmixEndpoint::Recover(const std::string& nspace,
                               std::vector<NamedFd> persisted) {
  recovery_.Recover(nspace, std::move(persisted));
  next_number_ = std::max(next_number_, recovery_.next_number() + kClosedSince);
}

void OpenPmixEndpoint::FinishRecovery() {
  for (auto& [id, fd] : recovery_.Finish()) AddConnection(std::move(fd), id);
}

void OpenPmixEndpoint::PrepareHandover() {
  if (options_.fd_store != nullptr) listener_->Pause();
}

}  // namespace canopy::openpmix
