#include "server/local/local_endpoint.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "common/local/limits.h"
#include "common/posix/out_queue.h"
#include "common/posix/unix_socket.h"
#include "server/endpoint/process_state.h"
#include "server/local/frames.h"
#include "server/net/socket_state.h"

namespace canopy::local {
namespace {

constexpr size_t kBufferSize = 256 << 10;
constexpr int kBacklog = 4096;

endpoint::ConnectionTableOptions TableOptions(const LocalOptions& options) {
  endpoint::ConnectionTableOptions table;
  table.budget = options.budget;
  table.pause_reading_bytes = options.pause_reading_bytes;
  table.max_queued_bytes = options.max_queued_bytes;
  table.unfinished = options.unfinished;
  table.half_message_ns = options.half_message_ns;
  return table;
}

bool IsToolHello(const FrameHeader& header) {
  return header.type == static_cast<uint16_t>(FrameType::kToolHello);
}

bool IsHello(const FrameHeader& header) {
  return header.type == static_cast<uint16_t>(FrameType::kHello) ||
         IsToolHello(header);
}

LocalOptions WithDefaults(LocalOptions options) {
  if (options.identity == nullptr) {
    options.identity = std::make_unique<HostIdentityPolicy>();
  }
  return options;
}

}  // namespace

LocalEndpoint::LocalEndpoint(EventLoop* loop, InputSink* sink,
                             LocalOptions options)
    : loop_(loop),
      options_(WithDefaults(std::move(options))),
      sink_(sink),
      buffer_(kBufferSize),
      jobs_(loop, sink_, JobsOptions()),
      admission_(&options_, &jobs_),
      requests_(&options_, &jobs_, sink_),
      connections_(loop, this, sink_, TableOptions(options_)),
      gate_(loop, GateParts()) {}

LocalJobsOptions LocalEndpoint::JobsOptions() {
  LocalJobsOptions jobs;
  jobs.self = options_.environment.self;
  jobs.watch_ns = options_.watch_barriers_ns;
  jobs.host_decides_fences = options_.host_decides_fences;
  jobs.token = options_.token ? options_.token
                              : [](const ProcId&) { return MakeToken(); };
  jobs.fd_store = options_.fd_store;
  jobs.on_corrupted = [this](const ProcId& proc) { OnCorrupted(proc); };
  return jobs;
}

LocalEndpoint::~LocalEndpoint() {
  if (listener_ && IsOwnSocket()) {
    unlink(options_.environment.socket_path.c_str());
  }
}

Status LocalEndpoint::Start() {
  const std::string& path = options_.environment.socket_path;
  Result<UniqueFd> listener = ListenUnix(path, kBacklog, options_.socket_mode);
  if (!listener.ok()) return listener.status();
  struct stat info;
  if (stat(path.c_str(), &info) == 0) socket_inode_ = info.st_ino;
  listener_.emplace(
      loop_, std::move(*listener),
      [this](UniqueFd fd) { OnConnection(std::move(fd)); }, WarnOfDescriptors(),
      options_.accept);
  return Status();
}

// Containers may have any user, so every user may connect.
Status LocalEndpoint::ListenForPods(const std::string& path) {
  constexpr mode_t kEveryUser = 0666;
  Result<UniqueFd> listener = ListenUnix(path, kBacklog, kEveryUser);
  if (!listener.ok()) return listener.status();
  pod_listener_.emplace(
      loop_, std::move(*listener),
      [this](UniqueFd fd) { OnPodConnection(std::move(fd)); },
      WarnOfDescriptors());
  return Status();
}

std::function<void()> LocalEndpoint::WarnOfDescriptors() {
  return [this] {
    Log(core::LogLine::Level::kError,
        "no descriptor left: refusing local connections; raise the agent's "
        "limit on open files");
  };
}

// Returns true if the socket at the path is the one that this agent created;
// the agent's successor may have created its own there.
bool LocalEndpoint::IsOwnSocket() const {
  struct stat info;
  return stat(options_.environment.socket_path.c_str(), &info) == 0 &&
         info.st_ino == socket_inode_;
}

void LocalEndpoint::Log(core::LogLine::Level level, std::string text) {
  if (options_.log) options_.log({level, std::move(text)});
}

// ------------------------------------------------------------ connections ---

endpoint::Gate::Parts LocalEndpoint::GateParts() {
  endpoint::Gate::Parts gate;
  gate.limits = options_.silence;
  gate.has_job = [this](uint32_t uid) { return jobs_.HasJobOf(uid); };
  gate.has_unread = [this](core::ClientId id) {
    return net::HasUnread(connections_.Find(id)->fd.get());
  };
  gate.close = [this](core::ClientId id, const char* reason) {
    LogEnd(*connections_.Find(id), reason);
    connections_.Destroy(id);
  };
  gate.log = options_.log;
  gate.serves_all_users = options_.serves_all_users;
  return gate;
}

// Accepts a connection or refuses it. A refusal does not wait for the hello. It
// has the tag of the hello, so that the client takes it as the answer.
void LocalEndpoint::OnConnection(UniqueFd fd) {
  constexpr uint64_t kHelloTag = 1;
  const Result<uid_t> user = GetPeerUser(fd.get());
  if (!user.ok()) return;
  const net::Source source = net::SourceOfUser(*user);
  if (gate_.Admits(fd.get(), source)) {
    AddConnection(std::move(fd), source);
    return;
  }
  OutQueue refusal;
  refusal.Append(MakeReply(kHelloTag, kErrNoPermissions, {}));
  refusal.Flush(fd.get());
}

void LocalEndpoint::Adopt(UniqueFd fd) {
  const net::Source source = endpoint::Gate::Relayed();
  if (gate_.Admits(fd.get(), source)) {
    AddConnection(std::move(fd), source).relayed = true;
  }
}

void LocalEndpoint::OnPodConnection(UniqueFd fd) {
  const Result<std::string> pod = options_.pod_of_peer(fd.get());
  if (!pod.ok()) {
    return gate_.Warn({"a process outside of all pods", std::nullopt},
                      "refusing a connection at the socket for pods: " +
                          pod.status().message());
  }
  const net::Source source{"pod " + *pod, std::nullopt};
  if (!gate_.Admits(fd.get(), source)) return;
  AddConnection(std::move(fd), source).pod = *pod;
}

Connection& LocalEndpoint::AddConnection(UniqueFd fd,
                                         const net::Source& source) {
  auto connection = std::make_unique<Connection>();
  Connection& c = *connection;
  c.id = MakeClientId(ClientKind::kLocal, next_number_++);
  c.fd = std::move(fd);
  c.source = source;
  connections_.Add(std::move(connection));
  gate_.Add(c.id, source);
  return c;
}

void LocalEndpoint::LogEnd(const endpoint::Connection& connection,
                           const std::string& reason) {
  const auto& c = static_cast<const Connection&>(connection);
  gate_.Warn(c.source, "closing local connection " +
                           (c.identified ? "of " + ToString(c.proc)
                                         : std::string("of unknown rank")) +
                           ": " + reason);
}

bool LocalEndpoint::IsStopped(const endpoint::Connection& connection) const {
  return endpoint::IsStopped(endpoint::PidOfPeer(connection.fd.get()));
}

void LocalEndpoint::OnClosed(endpoint::Connection& connection) {
  auto& c = static_cast<Connection&>(connection);
  c.fd.Reset();
  gate_.Remove(c.id);
  admission_.OnClosed(c);
  if (!c.identified) return;
  requests_.OnClosed(c);
  sink_->OnInput(core::ClientGone{c.id});
}

// ---------------------------------------------------------------- reading ---

std::string_view LocalEndpoint::Read(endpoint::Connection& connection) {
  return {buffer_.data(),
          connections_.Receive(connection, buffer_.data(), buffer_.size())};
}

size_t LocalEndpoint::Handle(endpoint::Connection& connection,
                             std::string_view data) {
  auto& c = static_cast<Connection&>(connection);
  FrameHeader header;
  if (data.size() < sizeof header) return AwaitRest(c, sizeof header);
  std::memcpy(&header, data.data(), sizeof header);
  const uint32_t limit =
      c.identified ? MaxPayloadOf(header.type) : kMaxHelloPayload;
  if (header.length > limit || header.flags != 0) {
    connections_.End(c, header.flags != 0
                            ? "sent an invalid frame"
                            : "sent a frame of type " +
                                  std::to_string(header.type) + " of " +
                                  std::to_string(header.length) + " bytes");
    return 0;
  }
  if (data.size() - sizeof header < header.length) {
    return AwaitRest(c, sizeof header + header.length);
  }
  HandleFrame(c, header, data.substr(sizeof header, header.length));
  if (!c.out.empty()) connections_.MarkDirty(c);
  return sizeof header + header.length;
}

// Sets a deadline for the rest of a hello that has begun.
size_t LocalEndpoint::AwaitRest(Connection& c, size_t length) {
  c.awaited = length;
  if (!c.identified && !connections_.HasDeadline(c)) {
    connections_.SetDeadline(c, options_.silence.timeout_ns,
                             "did not identify itself in time");
  }
  return 0;
}

void LocalEndpoint::HandleFrame(Connection& c, const FrameHeader& header,
                                std::string_view payload) {
  const bool is_hello = IsHello(header);
  if (is_hello == c.identified) {
    return connections_.End(
        c, is_hello ? "sent a second hello"
                    : "sent a request before identifying itself");
  }
  if (is_hello) return HandleHello(c, header, payload);
  const Status status = requests_.Handle(c, header, payload);
  if (!status.ok()) connections_.End(c, status.message());
}

void LocalEndpoint::HandleHello(Connection& c, const FrameHeader& header,
                                std::string_view payload) {
  if (c.asked) return connections_.End(c, "sent a second hello");
  if (c.relayed && !IsToolHello(header)) {
    return Refuse(
        c, header.tag,
        Status(kErrInvalidCred,
               "is on another machine, which runs no rank of this agent"));
  }
  if (!c.pod.empty() && IsToolHello(header)) {
    return Refuse(c, header.tag,
                  Status(kErrNotSupported, "is a tool in a Kubernetes pod"));
  }
  if (!options_.ask) return Admit(c, header, payload, {});
  const Result<endpoint::Newcomer> who =
      admission_.Recognise(c, IsToolHello(header), payload);
  if (!who.ok()) return Refuse(c, header.tag, who.status());
  c.asked = true;
  SetSpoken(c);
  options_.ask(*who, [this, id = c.id, header, hello = std::string(payload)](
                         const endpoint::Verdict& verdict) {
    Connection* waiting = connections_.Find(id);
    if (waiting == nullptr || waiting->ending) return;
    Admit(*waiting, header, hello, verdict);
    connections_.MarkDirty(*waiting);
  });
}

void LocalEndpoint::SetSpoken(Connection& c) {
  gate_.Remove(c.id);
  connections_.CancelDeadline(c);
}

void LocalEndpoint::Refuse(Connection& c, uint64_t tag, const Status& why) {
  c.out.Append(MakeReply(tag, why.code(), {}));
  connections_.End(c, why.message());
}

void LocalEndpoint::Admit(Connection& c, const FrameHeader& header,
                          std::string_view hello,
                          const endpoint::Verdict& verdict) {
  if (verdict.status != kSuccess) {
    return Refuse(c, header.tag,
                  Status(verdict.status, endpoint::TextOf(verdict)));
  }
  const bool is_tool = IsToolHello(header);
  const Status status =
      is_tool ? admission_.IdentifyTool(c, header, hello, verdict.name)
              : admission_.Identify(c, header, hello);
  if (!status.ok()) return Refuse(c, header.tag, status);
  SetSpoken(c);
  c.holder = {is_tool ? endpoint::ToolsOf(c.uid) : c.proc.nspace,
              ToString(c.proc)};
  sink_->OnInput(core::ClientConnected{c.id, c.proc, is_tool, c.uid, c.gid,
                                       is_tool && c.uid != geteuid()});
}

// ------------------------------------------------------- calls of the core ---

void LocalEndpoint::Reply(const core::ReplyClient& reply) {
  Connection* c = connections_.Find(reply.client);
  if (c == nullptr || !c->serving() || reply.request == 0) return;
  requests_.Reply(*c, reply);
  if (!c->out.empty()) connections_.MarkDirty(*c);
}

void LocalEndpoint::ReleaseFence(const core::ReleaseFence& release) {
  for (const core::ClientId client : release.clients) {
    const Connection* c = connections_.Find(client);
    if (c == nullptr || !c->serving()) continue;
    FenceBarrier* barrier = jobs_.FindBarrier(c->proc.nspace);
    if (barrier != nullptr) barrier->OnReleased(c->proc.rank, release.status);
  }
}

void LocalEndpoint::Notify(const core::NotifyClient& event) {
  Connection* c = connections_.Find(event.client);
  if (c == nullptr || !c->serving()) return;
  c->out.Append(event_frames_.Of(event.event));
  connections_.MarkDirty(*c);
}

void LocalEndpoint::Close(core::ClientId client, const std::string& reason) {
  if (Connection* c = connections_.Find(client)) connections_.End(*c, reason);
}

void LocalEndpoint::TakeCommits(const ProcId& proc) { jobs_.TakeCommits(proc); }

void LocalEndpoint::AwaitCommit(const ProcId& proc) {
  CommitMailboxes* mailboxes = jobs_.FindMailboxes(proc.nspace);
  if (mailboxes != nullptr) mailboxes->Await(proc.rank);
}

// ------------------------------------------------------- commit mailboxes ---

void LocalEndpoint::RecoverMailboxes(const std::string& nspace,
                                     UniqueFd mailboxes) {
  jobs_.RecoverMailboxes(nspace, std::move(mailboxes));
}

void LocalEndpoint::CloseMailboxes(const std::string& nspace) {
  jobs_.CloseMailboxes(nspace);
}

void LocalEndpoint::OnCorrupted(const ProcId& proc) {
  connections_.ForEach([&](Connection& c) {
    if (c.mailbox >= 0 && c.proc == proc) {
      connections_.End(c, "committed malformed data");
    }
  });
}

// -------------------------------------------------------------- successor ---

void LocalEndpoint::PrepareHandover(uint32_t ms) {
  admission_.set_reattach_ms(ms);
  connections_.ForEach([&](Connection& c) {
    if (c.is_tool || !c.serving()) return;
    c.out.Append(MakeFrame(FrameType::kHandover, 0, Handover{ms}));
    connections_.MarkDirty(c);
  });
}

void LocalEndpoint::Quiesce() {
  connections_.ForEach([&](Connection& c) {
    shutdown(c.fd.get(), SHUT_RD);
    connections_.HandlePartial(c);
    while (!c.ending) {
      const ssize_t n =
          recv(c.fd.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
      if (n <= 0) break;
      c.partial.append(buffer_.data(), static_cast<size_t>(n));
      connections_.HandlePartial(c);
    }
  });
}

void LocalEndpoint::FlushAll() {
  connections_.ForEach([](Connection& c) { c.out.Flush(c.fd.get()); });
}

// ------------------------------------------------------ jobs and processes ---

void LocalEndpoint::AddJob(const core::RegisterJob& registration) {
  jobs_.Add(registration);
}

void LocalEndpoint::DropJob(const std::string& nspace) {
  jobs_.Drop(nspace);
  connections_.ForEach([&](Connection& c) {
    c.segments.erase(nspace);
    c.copies.erase(nspace);
    if (c.identified && c.proc.nspace == nspace) {
      connections_.End(c, "its job is over");
    }
  });
}

std::vector<std::string> LocalEndpoint::ForJob(const core::PrepareLocal& job) {
  return JobEnvironment(job, options_.environment);
}

std::vector<std::string> LocalEndpoint::ForRank(const core::PrepareLocal& job,
                                                Rank rank) {
  const auto* local = jobs_.FindRank({job.job->nspace, rank});
  return RankEnvironment(job, rank, local == nullptr ? "" : local->token);
}

ProcessEnvironment::InheritedFd LocalEndpoint::FdForRank(
    const core::PrepareLocal&, Rank) {
  return {};
}

void LocalEndpoint::OnProcess(const std::string& nspace, Rank rank, int pid) {
  jobs_.SetPid({nspace, rank}, pid);
  if (options_.on_process) options_.on_process(nspace, rank, pid);
}

}  // namespace canopy::local
