#include "server/local/local_endpoint.h"

#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/posix/unix_socket.h"
#include "server/local/frames.h"

namespace canopy::local {
namespace {

constexpr size_t kBufferSize = 256 << 10;
constexpr size_t kKeepPartial = 1 << 20;
constexpr int kBacklog = 4096;
constexpr size_t kMaxPendingGets = 1 << 16;
// From this version on clients support the barrier.
constexpr uint64_t kBarrierVersion = 2;
// And from this one on they may change over to another agent.
constexpr uint64_t kSuccessorVersion = 3;
// And from this one on they make their directory.
constexpr uint64_t kOwnDirectoryVersion = 4;
// From this version on they support commit mailboxes.
constexpr uint64_t kMailboxVersion = 5;
constexpr int64_t kRetryNs = 2 * 1000 * 1000;

// Not 0.
uint64_t MakeEpoch() {
  uint64_t epoch = 0;
  if (getrandom(&epoch, sizeof epoch, 0) != sizeof epoch) {
    epoch = static_cast<uint64_t>(EventLoop::Now());
  }
  return epoch | 1;
}

}  // namespace

LocalEndpoint::LocalEndpoint(EventLoop* loop, InputSink* sink,
                             LocalOptions options)
    : loop_(loop),
      sink_(sink),
      options_(std::move(options)),
      jobs_(loop, sink, JobsOptions()),
      buffer_(kBufferSize),
      epoch_(MakeEpoch()),
      self_(std::make_shared<LocalEndpoint*>(this)) {
  if (options_.identity == nullptr) {
    options_.identity = std::make_unique<HostIdentityPolicy>();
  }
}

LocalJobsOptions LocalEndpoint::JobsOptions() {
  LocalJobsOptions jobs;
  jobs.self = options_.environment.self;
  jobs.watch_ns = options_.watch_barriers_ns;
  jobs.token = options_.token ? options_.token
                              : [](const ProcId&) { return MakeToken(); };
  jobs.persist_mailboxes = options_.persist_mailboxes;
  jobs.on_corrupted = [this](const ProcId& proc) { OnCorrupted(proc); };
  return jobs;
}

LocalEndpoint::~LocalEndpoint() {
  *self_ = nullptr;
  for (auto& [id, c] : connections_) {
    loop_->CancelTimer(c->hello_timer);
    loop_->CancelTimer(c->retry_timer);
    c->out.Flush(c->fd.get());
    loop_->Unwatch(c->fd.get());
  }
  if (!acceptor_) return;
  loop_->Unwatch(acceptor_.fd());
  if (IsOwnSocket()) unlink(options_.environment.socket_path.c_str());
}

Status LocalEndpoint::Start() {
  const std::string& path = options_.environment.socket_path;
  Result<UniqueFd> listener = ListenUnix(path, kBacklog);
  if (!listener.ok()) return listener.status();
  acceptor_ = Acceptor(std::move(*listener));
  struct stat info;
  if (stat(path.c_str(), &info) == 0) socket_inode_ = info.st_ino;
  loop_->Watch(acceptor_.fd(), EPOLLIN, [this](uint32_t) { OnAcceptable(); });
  return Status();
}

// A restarted agent may have put its own socket there.
bool LocalEndpoint::IsOwnSocket() const {
  struct stat info;
  return stat(options_.environment.socket_path.c_str(), &info) == 0 &&
         info.st_ino == socket_inode_;
}

void LocalEndpoint::Log(core::LogLine::Level level, std::string text) {
  if (options_.log) options_.log({level, std::move(text)});
}

// ------------------------------------------------------------ connections ---

void LocalEndpoint::OnAcceptable() {
  const bool refused =
      acceptor_.Accept([this](UniqueFd fd) { AddConnection(std::move(fd)); });
  if (!refused) return;
  Log(core::LogLine::Level::kError,
      "no descriptor left: refusing local connections; raise the agent's "
      "limit on open files");
}

void LocalEndpoint::AddConnection(UniqueFd fd) {
  if (unidentified_ >= options_.max_unidentified) {
    Log(core::LogLine::Level::kWarning,
        "too many local connections that do not say who they are");
    return;
  }
  auto connection = std::make_unique<Connection>();
  Connection& c = *connection;
  c.id = MakeClientId(ClientKind::kLocal, next_number_++);
  c.fd = std::move(fd);
  c.watched = EPOLLIN;
  ++unidentified_;
  connections_.emplace(c.id, std::move(connection));
  const core::ClientId id = c.id;
  c.hello_timer = loop_->AddTimer(options_.hello_timeout_ns, [this, id] {
    Connection* late = Find(id);
    if (late == nullptr) return;
    late->hello_timer = 0;
    End(*late, "did not say who it is in time");
  });
  loop_->Watch(c.fd.get(), EPOLLIN,
               [this, id](uint32_t events) { OnEvents(id, events); });
}

Connection* LocalEndpoint::Find(core::ClientId client) {
  const auto it = connections_.find(client);
  return it == connections_.end() ? nullptr : it->second.get();
}

void LocalEndpoint::End(Connection& c, const std::string& reason) {
  if (c.state == Connection::State::kEnding) return;
  c.state = Connection::State::kEnding;
  if (!reason.empty()) {
    Log(core::LogLine::Level::kWarning,
        "closing local connection " +
            (c.identified ? "of " + ToString(c.proc) : "of unknown rank") +
            ": " + reason);
  }
  MarkDirty(c);
}

void LocalEndpoint::Destroy(core::ClientId id) {
  const auto it = connections_.find(id);
  const std::unique_ptr<Connection> c = std::move(it->second);
  connections_.erase(it);
  loop_->CancelTimer(c->hello_timer);
  loop_->CancelTimer(c->retry_timer);
  loop_->Unwatch(c->fd.get());
  c->fd.Reset();
  if (!c->identified) {
    --unidentified_;
    return;
  }
  TakeOwn(*c);
  if (LocalRank* rank = jobs_.FindRank(c->proc)) --rank->connections;
  if (FenceBarrier* barrier = jobs_.FindBarrier(c->proc.nspace)) {
    barrier->OnGone(c->proc.rank, id);
    for (size_t i = 0; i < c->fences.size(); ++i)
      barrier->OnMessageDone(kSuccess);
  }
  sink_->OnInput(core::ClientGone{id});
}

// ---------------------------------------------------------------- reading ---

void LocalEndpoint::OnEvents(core::ClientId id, uint32_t events) {
  Connection* c = Find(id);
  if (c == nullptr || c->state == Connection::State::kEnding) return;
  if ((events & EPOLLOUT) != 0) MarkDirty(*c);
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) Receive(*c);
}

void LocalEndpoint::Receive(Connection& c) {
  const ssize_t n =
      recv(c.fd.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  // A process that is killed leaves answers unread, which resets.
  if (n < 0) return End(c, errno == ECONNRESET ? "" : std::strerror(errno));
  if (n == 0) {
    return End(c, c.partial.empty() ? "" : "ended in the middle of a frame");
  }
  const std::string_view data(buffer_.data(), static_cast<size_t>(n));
  if (c.partial.empty()) {
    const size_t used = HandleFrames(c, data);
    c.partial.assign(data.substr(used));
    return;
  }
  c.partial.append(data);
  const size_t used = HandleFrames(c, c.partial);
  c.partial.erase(0, used);
  if (c.partial.empty() && c.partial.capacity() > kKeepPartial) {
    c.partial.shrink_to_fit();
  }
}

size_t LocalEndpoint::HandleFrames(Connection& c, std::string_view data) {
  size_t used = 0;
  while (c.state != Connection::State::kEnding) {
    FrameHeader header;
    if (data.size() - used < sizeof header) return used;
    std::memcpy(&header, data.data() + used, sizeof header);
    const uint32_t limit =
        c.state == Connection::State::kNew ? kMaxHelloPayload : kMaxPayload;
    if (header.length > limit || header.flags != 0) {
      End(c, header.flags != 0 ? "sent what is no frame"
                               : "sent a frame of " +
                                     std::to_string(header.length) + " bytes");
      break;
    }
    const size_t left = data.size() - used - sizeof header;
    if (left < header.length) return used;
    HandleFrame(c, header, data.substr(used + sizeof header, header.length));
    used += sizeof header + header.length;
  }
  return data.size();
}

void LocalEndpoint::HandleFrame(Connection& c, const FrameHeader& header,
                                std::string_view payload) {
  const bool is_hello = header.type == static_cast<uint16_t>(FrameType::kHello);
  if (is_hello != (c.state == Connection::State::kNew)) {
    return End(c, is_hello ? "said hello twice"
                           : "sent a request before saying who it is");
  }
  if (is_hello) {
    HandleHello(c, header, payload);
  } else {
    HandleRequest(c, header, payload);
  }
}

void LocalEndpoint::HandleHello(Connection& c, const FrameHeader& header,
                                std::string_view payload) {
  const Status status = Identify(c, header, payload);
  if (status.ok()) {
    sink_->OnInput(core::ClientConnected{c.id, c.proc});
    return;
  }
  c.out.Append(MakeReply(header.tag, status.code(), {}));
  End(c, status.message());
}

Status LocalEndpoint::Identify(Connection& c, const FrameHeader& header,
                               std::string_view payload) {
  const Result<Hello> hello = ParseHello(payload);
  if (!hello.ok()) return hello.status();
  if (hello->version < kOldestVersion) {
    return Status(kErrHandshakeFailed, "its library speaks protocol version " +
                                           std::to_string(hello->version));
  }
  Status proven = Prove(c, *hello);
  if (!proven.ok()) return proven;
  const std::optional<SegmentRef> segment =
      options_.segment(hello->claimed.nspace);
  if (!segment) return Status(kErrNotFound, "its job has no segment");
  Admit(c, *hello);
  Welcome(c, header.tag, hello->version, *segment);
  return Status();
}

// Whether the connection is the rank's that it claims to be.
Status LocalEndpoint::Prove(const Connection& c, const Hello& hello) {
  const std::string claimed = ToString(hello.claimed);
  const LocalRank* rank = jobs_.FindRank(hello.claimed);
  if (rank == nullptr) {
    return Status(kErrInvalidCred,
                  "claims to be " + claimed + ", which does not run here");
  }
  const Result<PeerCredentials> peer = GetPeerCredentials(c.fd.get());
  if (!peer.ok()) return peer.status();
  const uint32_t uid = jobs_.Find(hello.claimed.nspace)->uid;
  const Status identity = options_.identity->Check(
      *peer, {uid, rank->token, rank->pid}, hello.token);
  if (!identity.ok()) {
    return Status(identity.code(),
                  "claims to be " + claimed + ": " + identity.message());
  }
  if (rank->connections < options_.max_connections_per_rank) return Status();
  return Status(kErrResourceBusy,
                claimed + " has too many connections already");
}

void LocalEndpoint::Admit(Connection& c, const Hello& hello) {
  ++jobs_.FindRank(hello.claimed)->connections;
  --unidentified_;
  loop_->CancelTimer(std::exchange(c.hello_timer, 0));
  c.proc = hello.claimed;
  c.identified = true;
  c.state = Connection::State::kServing;
  c.segments.insert(c.proc.nspace);
  c.may_hand_over = hello.version >= kSuccessorVersion;
  if (hello.version < kOwnDirectoryVersion && options_.make_directory) {
    options_.make_directory(c.proc);
  }
}

void LocalEndpoint::Welcome(Connection& c, uint64_t tag, uint64_t version,
                            const SegmentRef& segment) {
  std::vector<SharedFd> fds = {{segment.fd, segment.owner}};
  BarrierOffer barrier;
  if (version >= kBarrierVersion) barrier = jobs_.OfferBarrier(c.proc, c.id);
  const MailboxOffer mailboxes = OfferMailboxes(c, version, barrier);
  const LocalJob& job = *jobs_.Find(c.proc.nspace);
  if (barrier.size > 0)
    fds.push_back({job.barrier->fd(), job.barrier->owner()});
  if (mailboxes.size > 0)
    fds.push_back({job.mailboxes->fd(), job.mailboxes->owner()});
  ReattachOffer reattach;
  if (c.may_hand_over) reattach = {options_.reattach_ms, epoch_};
  c.out.AppendWithFds(MakeHelloReply(tag, c.proc, options_.server, segment.size,
                                     barrier, reattach, mailboxes),
                      std::move(fds));
  MarkDirty(c);
}

void LocalEndpoint::HandleRequest(Connection& c, const FrameHeader& header,
                                  std::string_view payload) {
  TakeOwn(c);
  if (c.state == Connection::State::kEnding ||
      header.type == static_cast<uint16_t>(FrameType::kCommitted)) {
    return;
  }
  if (header.type == static_cast<uint16_t>(FrameType::kBarrierFull)) {
    if (FenceBarrier* barrier = jobs_.FindBarrier(c.proc.nspace))
      barrier->OnFull();
    return;
  }
  if (header.tag == kBarrierRequest) return End(c, "used a reserved tag");
  Result<core::Input> input = ParseRequest(c.id, c.proc, header, payload);
  if (input.code() == kErrNotSupported) {
    if (header.tag != 0) {
      c.out.Append(MakeReply(header.tag, kErrNotSupported, {}));
      MarkDirty(c);
    }
    return;
  }
  if (!input.ok()) return End(c, input.status().message());
  if (auto* get = std::get_if<core::GetArrived>(&*input)) {
    if (get->target.nspace.empty()) get->target.nspace = c.proc.nspace;
    if (c.gets.size() >= kMaxPendingGets) {
      c.out.Append(MakeReply(header.tag, kErrOutOfResource, {}));
      return MarkDirty(c);
    }
    c.gets[header.tag] = get->target;
  }
  if (const auto* resumed = std::get_if<core::ClientReattached>(&*input)) {
    NoteReattached(c, *resumed);
  }
  const bool commits = std::holds_alternative<core::Committed>(*input);
  NoteRequest(c, header, *input);
  sink_->OnInput(std::move(*input));
  if (!commits) return;
  if (FenceBarrier* barrier = jobs_.FindBarrier(c.proc.nspace)) {
    barrier->OnCommit(c.proc.rank, c.id);
  }
  CommitMailboxes* mailboxes = jobs_.FindMailboxes(c.proc.nspace);
  if (mailboxes != nullptr && c.mailbox >= 0) {
    mailboxes->OnMessage(static_cast<uint32_t>(c.mailbox));
  }
}

// --------------------------------------------------------------- barriers ---

void LocalEndpoint::NoteReattached(Connection& c,
                                   const core::ClientReattached& resumed) {
  FenceBarrier* barrier = jobs_.FindBarrier(c.proc.nspace);
  for (const core::CollectiveCount& count : resumed.counts) {
    if (barrier != nullptr && count.op == core::CollectiveOp::kFence &&
        IsWholeJob(c.proc.nspace, count.participants)) {
      barrier->OnReattached(c.proc.rank, c.id, count.ended);
    }
  }
}

void LocalEndpoint::NoteRequest(Connection& c, const FrameHeader& header,
                                const core::Input& input) {
  const auto* fence = std::get_if<core::CollectiveArrived>(&input);
  if (fence == nullptr || fence->op != core::CollectiveOp::kFence ||
      !IsWholeJob(c.proc.nspace, fence->participants)) {
    return;
  }
  FenceBarrier* barrier = jobs_.FindBarrier(c.proc.nspace);
  if (barrier == nullptr) return;
  barrier->OnMessage(c.proc.rank);
  c.fences.push_back(header.tag);
}

void LocalEndpoint::NoteReply(Connection& c, const core::ReplyClient& reply) {
  const auto fence = std::ranges::find(c.fences, reply.request);
  if (fence == c.fences.end()) return;
  *fence = c.fences.back();
  c.fences.pop_back();
  if (FenceBarrier* barrier = jobs_.FindBarrier(c.proc.nspace)) {
    barrier->OnMessageDone(reply.status);
  }
}

// ------------------------------------------------------- commit mailboxes ---

void LocalEndpoint::RecoverMailboxes(const std::string& nspace,
                                     UniqueFd mailboxes) {
  jobs_.RecoverMailboxes(nspace, std::move(mailboxes));
}

void LocalEndpoint::CloseMailboxes(const std::string& nspace) {
  jobs_.CloseMailboxes(nspace);
}

MailboxOffer LocalEndpoint::OfferMailboxes(Connection& c, uint64_t version,
                                           const BarrierOffer& barrier) {
  if (version < kMailboxVersion) return {};
  if (barrier.size == 0) return {true, 0};
  const uint64_t size = jobs_.OfferMailboxes(c.proc.nspace, barrier.index);
  if (size > 0) c.mailbox = static_cast<int>(barrier.index);
  return {true, size};
}

void LocalEndpoint::OnCorrupted(const ProcId& proc) {
  for (auto& [id, c] : connections_) {
    if (c->mailbox >= 0 && c->proc == proc) End(*c, "committed malformed data");
  }
}

void LocalEndpoint::TakeOwn(const Connection& c) {
  CommitMailboxes* mailboxes =
      c.mailbox < 0 ? nullptr : jobs_.FindMailboxes(c.proc.nspace);
  if (mailboxes != nullptr) mailboxes->TakeAt(static_cast<uint32_t>(c.mailbox));
}

void LocalEndpoint::TakeCommits(const ProcId& proc) { jobs_.TakeCommits(proc); }

void LocalEndpoint::AwaitCommit(const ProcId& proc) {
  CommitMailboxes* mailboxes = jobs_.FindMailboxes(proc.nspace);
  if (mailboxes != nullptr) mailboxes->Await(proc.rank);
}

// ---------------------------------------------------------------- writing ---

void LocalEndpoint::Reply(const core::ReplyClient& reply) {
  Connection* c = Find(reply.client);
  if (c == nullptr || c->state != Connection::State::kServing ||
      reply.request == 0) {
    return;
  }
  if (reply.request == kBarrierRequest) {
    FenceBarrier* barrier = jobs_.FindBarrier(c->proc.nspace);
    if (barrier != nullptr) barrier->OnReply(c->proc.rank, reply.status);
    return;
  }
  NoteReply(*c, reply);
  Bytes payload = reply.payload;
  if (const auto get = c->gets.extract(reply.request); !get.empty()) {
    const ProcId& target = get.mapped();
    if (reply.status == kSuccess) OfferSegment(*c, target.nspace);
    // The client finds the data of a rank that it can name in the segment.
    if (target.rank <= kRankValid && c->segments.contains(target.nspace) &&
        (!options_.holds || options_.holds(target))) {
      payload = Bytes();
    }
  }
  if (payload.size() > kMaxPayload - 64) {
    c->out.Append(MakeReply(reply.request, kErrOutOfResource, {}));
  } else {
    c->out.Append(MakeReplyHead(reply.request, reply.status, payload.size()));
    c->out.Append(payload);
  }
  MarkDirty(*c);
}

void LocalEndpoint::OfferSegment(Connection& c, const std::string& nspace) {
  if (c.segments.contains(nspace)) return;
  std::optional<SegmentRef> segment = options_.segment(nspace);
  if (!segment) return;
  c.segments.insert(nspace);
  c.out.AppendWithFds(MakeSegment(nspace, segment->size),
                      {{segment->fd, std::move(segment->owner)}});
}

void LocalEndpoint::Notify(const core::NotifyClient& event) {
  Connection* c = Find(event.client);
  if (c == nullptr || c->state != Connection::State::kServing) return;
  c->out.Append(MakeEvent(event));
  MarkDirty(*c);
}

void LocalEndpoint::Close(core::ClientId client, const std::string& reason) {
  if (Connection* c = Find(client)) End(*c, reason);
}

void LocalEndpoint::MarkDirty(Connection& c) {
  if (std::exchange(c.dirty, true)) return;
  dirty_.push_back(c.id);
  if (dirty_.size() > 1) return;
  loop_->Defer([self = self_] {
    if (*self != nullptr) (*self)->FlushDirty();
  });
}

void LocalEndpoint::FlushDirty() {
  std::vector<core::ClientId> dirty;
  dirty.swap(dirty_);
  for (const core::ClientId id : dirty) {
    Connection* c = Find(id);
    if (c == nullptr) continue;
    c->dirty = false;
    Flush(*c);
  }
}

void LocalEndpoint::Flush(Connection& c) {
  const OutQueue::State state = c.out.Flush(c.fd.get());
  if (c.state == Connection::State::kEnding) return Destroy(c.id);
  if (state == OutQueue::State::kBroken) return Destroy(c.id);
  if (c.out.size() > options_.max_queued_bytes) {
    return End(c, "does not read what is sent to it");
  }
  if (state == OutQueue::State::kBusy && c.retry_timer == 0) {
    c.retry_timer = loop_->AddTimer(kRetryNs, [this, id = c.id] {
      Connection* waiting = Find(id);
      if (waiting == nullptr) return;
      waiting->retry_timer = 0;
      MarkDirty(*waiting);
    });
  }
  WatchFor(c, state == OutQueue::State::kBlocked);
}

void LocalEndpoint::WatchFor(Connection& c, bool blocked) {
  uint32_t events = 0;
  if (c.out.size() <= options_.pause_reading_bytes) events |= EPOLLIN;
  if (blocked) events |= EPOLLOUT;
  if (events == c.watched) return;
  c.watched = events;
  loop_->Rewatch(c.fd.get(), events);
}

// -------------------------------------------------------------- successor ---

void LocalEndpoint::PrepareHandover(uint32_t ms) {
  options_.reattach_ms = ms;
  for (auto& [id, c] : connections_) {
    if (!c->may_hand_over || c->state != Connection::State::kServing) {
      continue;
    }
    c->out.Append(MakeHandover(ms));
    MarkDirty(*c);
  }
}

void LocalEndpoint::Quiesce() {
  for (auto& [id, c] : connections_) {
    shutdown(c->fd.get(), SHUT_RD);
    for (;;) {
      const ssize_t n =
          recv(c->fd.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
      if (n <= 0 || c->state == Connection::State::kEnding) break;
      c->partial.append(buffer_.data(), static_cast<size_t>(n));
      c->partial.erase(0, HandleFrames(*c, c->partial));
    }
  }
  for (auto& [id, c] : connections_) c->out.Flush(c->fd.get());
}

// ------------------------------------------------------ jobs and processes ---

void LocalEndpoint::AddJob(const core::RegisterJob& registration) {
  jobs_.Add(registration);
}

void LocalEndpoint::DropJob(const std::string& nspace) {
  jobs_.Drop(nspace);
  for (auto& [id, c] : connections_) {
    if (c->identified && c->proc.nspace == nspace) End(*c, "its job is over");
  }
}

std::vector<std::string> LocalEndpoint::ForJob(const core::PrepareLocal& job) {
  return JobEnvironment(job, options_.environment);
}

std::vector<std::string> LocalEndpoint::ForRank(const core::PrepareLocal& job,
                                                Rank rank) {
  const LocalRank* local = jobs_.FindRank({job.job->nspace, rank});
  return RankEnvironment(job, rank, local == nullptr ? "" : local->token);
}

ProcessEnvironment::InheritedFd LocalEndpoint::FdForRank(
    const core::PrepareLocal&, Rank) {
  return {};
}

void LocalEndpoint::OnProcess(const std::string& nspace, Rank rank, int pid) {
  if (LocalRank* local = jobs_.FindRank({nspace, rank})) local->pid = pid;
  if (options_.on_process) options_.on_process(nspace, rank, pid);
}

}  // namespace canopy::local
