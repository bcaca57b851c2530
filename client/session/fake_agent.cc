#include "client/session/fake_agent.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "common/codec/encoder.h"
#include "common/codec/infos.h"
#include "common/describe.h"
#include "common/local/events.h"
#include "common/local/greeting.h"
#include "common/local/reply.h"
#include "common/status.h"
#include "pmix.h"

namespace canopy::client {
namespace {

constexpr size_t kMaxFds = 3;

using local::FrameType;

std::string Encode(const Value& value) { return EncodeValue(value.raw()); }

// Returns the VALUE of a PROC without its last byte, which is the rank.
std::string ProcPrefix(const std::string& nspace) {
  std::string encoded = Encode(Value::Proc({nspace, 0}));
  encoded.pop_back();
  return encoded;
}

[[noreturn]] void Fatal(const char* what) {
  perror(what);
  abort();
}

std::unique_ptr<shm::SegmentWriter> MakeSegment(
    const shm::SegmentContents& contents) {
  shm::SegmentLimits limits;
  limits.arena_bytes = 64u << 20;
  limits.memory_budget = 64u << 20;
  auto writer = shm::SegmentWriter::Create(contents, limits);
  if (!writer.ok()) Fatal("segment");
  return std::move(writer).value();
}

shm::NodeContents Node(const std::string& name, uint32_t id, uint32_t ranks,
                       const std::string& peers) {
  shm::NodeContents node;
  node.name = name;
  node.id = id;
  node.aliases = {name + ".site"};
  node.hostname = Encode(Value::String(name));
  node.keys = {{PMIX_HOSTNAME, node.hostname},
               {PMIX_NODEID, Encode(Value::Uint32(id))},
               {PMIX_NODE_SIZE, Encode(Value::Uint32(ranks))},
               {PMIX_LOCAL_SIZE, Encode(Value::Uint32(ranks))},
               {PMIX_LOCAL_PEERS, Encode(Value::String(peers))}};
  return node;
}

shm::ProcContents Proc(Rank rank) {
  shm::ProcContents proc;
  proc.node = rank / 2;
  proc.app = rank == 3 ? 1 : 0;
  proc.app_rank = rank == 3 ? 0 : rank;
  proc.global_rank = rank;
  proc.local_rank = static_cast<uint16_t>(rank % 2);
  proc.node_rank = proc.local_rank;
  if (proc.node == 0) proc.locality = Encode(Value::String("hwloc:NM0:SK0"));
  return proc;
}

}  // namespace

std::string EncodeKvals(const std::vector<KeyValue>& kvals) {
  Encoder encoder;
  for (const KeyValue& kval : kvals) {
    encoder.PutKval(kval.key, kval.value.raw());
  }
  return encoder.Take();
}

shm::SegmentContents FakeAgent::Contents(const std::string& nspace) {
  shm::SegmentContents c;
  c.nspace = nspace;
  c.proc_id_prefix = ProcPrefix(nspace);
  c.self_node = 0;
  c.session = {
      {PMIX_UNIV_SIZE, Encode(Value::Uint32(16))},
      {PMIX_SESSION_ID, Encode(Value::Uint32(7))},
      {PMIX_NUM_NODES, Encode(Value::Uint32(9))},
      {PMIX_ALLOCATED_NODELIST, Encode(Value::String("here,there,elsewhere"))},
      {PMIX_CLUSTER_ID, Encode(Value::String("cluster"))}};
  c.job = {{PMIX_JOB_SIZE, Encode(Value::Uint32(4))},
           {PMIX_NUM_NODES, Encode(Value::Uint32(2))},
           {PMIX_JOB_NUM_APPS, Encode(Value::Uint32(2))},
           {"host.key", Encode(Value::String("from the host"))}};
  c.apps = {{{PMIX_APP_SIZE, Encode(Value::Uint32(3))}},
            {{PMIX_APP_SIZE, Encode(Value::Uint32(1))}}};
  c.nodes = {Node("here", 0, 2, "0,1"), Node("there", 1, 2, "2,3")};
  for (Rank rank = 0; rank < 4; ++rank) c.procs.push_back(Proc(rank));
  return c;
}

FakeAgent::FakeAgent(const std::string& nspace) : nspace_(nspace) {
  const char* base = getenv("TEST_TMPDIR");
  std::string pattern = std::string(base == nullptr ? "/tmp" : base);
  // The path of a socket is limited to about 100 bytes.
  if (pattern.size() > 60) pattern = "/tmp";
  pattern += "/agentXXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) Fatal("mkdtemp");
  directory_ = pattern;
  path_ = directory_ + "/s";
  listener_ = UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path_.data(), path_.size());
  if (bind(listener_.get(), reinterpret_cast<sockaddr*>(&address),
           sizeof(address)) != 0 ||
      listen(listener_.get(), 8) != 0) {
    Fatal("bind");
  }
  shm::SegmentContents contents = Contents(nspace);
  for (Rank rank = 0; rank < 2; ++rank) {
    contents.procs[rank].procdir = Encode(Value::String(RankDirectory(rank)));
  }
  segment_ = MakeSegment(contents);
  setenv(local::kEnvSocket, path_.c_str(), 1);
  setenv(local::kEnvToken, "0123456789abcdef0123456789abcdef", 1);
  setenv("PMIX_NAMESPACE", nspace.c_str(), 1);
  setenv("PMIX_RANK", "0", 1);
  thread_ = std::thread([this] { Serve(); });
}

FakeAgent::~FakeAgent() {
  shutdown(listener_.get(), SHUT_RDWR);
  Die();
  thread_.join();
  unlink(path_.c_str());
  for (Rank rank = 0; rank < 2; ++rank) rmdir(RankDirectory(rank).c_str());
  rmdir(directory_.c_str());
  unsetenv(local::kEnvSocket);
  unsetenv(local::kEnvToken);
  unsetenv("PMIX_NAMESPACE");
  unsetenv("PMIX_RANK");
}

std::string FakeAgent::RankDirectory(Rank rank) const {
  return directory_ + "/" + std::to_string(rank);
}

void FakeAgent::On(FrameType type, Handler handler) {
  const MutexLock lock(mu_);
  handlers_[type] = std::move(handler);
}

bool FakeAgent::ReadExactly(void* to, size_t size) {
  int fd;
  {
    const MutexLock lock(mu_);
    fd = connection_.get();
  }
  return recv(fd, to, size, MSG_WAITALL) == static_cast<ssize_t>(size);
}

void FakeAgent::Serve() {
  for (;;) {
    UniqueFd accepted(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!accepted) return;
    {
      const MutexLock lock(mu_);
      connection_ = std::move(accepted);
    }
    local::FrameHeader header;
    while (ReadExactly(&header, sizeof(header))) {
      Request request{static_cast<FrameType>(header.type), header.tag,
                      std::string(header.length, '\0')};
      if (header.length > 0 &&
          !ReadExactly(request.payload.data(), header.length)) {
        break;
      }
      Handle(request);
    }
  }
}

void FakeAgent::Handle(const Request& request) {
  Handler handler;
  {
    const MutexLock lock(mu_);
    requests_.push_back(request);
    const auto it = handlers_.find(request.type);
    if (it != handlers_.end()) handler = it->second;
  }
  changed_.NotifyAll();
  if (handler) {
    handler(*this, request);
  } else if (request.type == FrameType::kHello) {
    Welcome(request);
  } else if (request.type == FrameType::kToolHello) {
    WelcomeTool(request);
  } else if (request.tag != 0) {
    Reply(request, request.type == FrameType::kGet ? kErrNotFound : kSuccess);
  }
}

void FakeAgent::Welcome(const Request& request) {
  local::Hello hello;
  if (!wire::Decode(request.payload, &hello)) Fatal("hello");
  local::Welcome welcome;
  welcome.self = hello.claimed;
  welcome.index = hello.claimed.rank;
  welcome.segment_size = segment_->size();
  std::vector<int> fds = {segment_->fd()};
  ProcId server;
  {
    const MutexLock lock(mu_);
    server = server_;
    welcome.reattach_ms = reattach_ms_;
    welcome.epoch = epoch_;
  }
  welcome.server = ViewOf(server);
  if (barrier_ != nullptr) {
    welcome.barrier_size = barrier_->size();
    fds.push_back(barrier_->fd());
  }
  if (mailboxes_ != nullptr) {
    welcome.mailboxes_size = mailboxes_->size();
    fds.push_back(mailboxes_->fd());
  }
  const std::string payload = wire::Encode(welcome);
  Send(FrameType::kReply, request.tag,
       wire::Encode(local::Reply{kSuccess, payload}), fds);
}

void FakeAgent::WelcomeTool(const Request& request) {
  local::Hello hello;
  if (!wire::Decode(request.payload, &hello)) Fatal("hello");
  local::Welcome welcome;
  welcome.self = hello.claimed;
  if (welcome.self.nspace.empty()) welcome.self.nspace = "tool";
  ProcId server;
  {
    const MutexLock lock(mu_);
    server = server_;
  }
  welcome.server = ViewOf(server);
  Reply(request, kSuccess, wire::Encode(welcome));
}

void FakeAgent::Rename(const ProcId& server) {
  const MutexLock lock(mu_);
  server_ = server;
}

void FakeAgent::Send(FrameType type, uint64_t tag, std::string_view payload,
                     const std::vector<int>& fds) {
  local::FrameHeader header;
  header.length = static_cast<uint32_t>(payload.size());
  header.type = static_cast<uint16_t>(type);
  header.tag = tag;
  std::string frame(reinterpret_cast<const char*>(&header), sizeof(header));
  frame.append(payload);
  iovec part = {frame.data(), frame.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxFds)] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
    cmsghdr* c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    memcpy(CMSG_DATA(c), fds.data(), sizeof(int) * fds.size());
  }
  const MutexLock send_lock(send_mu_);
  int to;
  {
    const MutexLock lock(mu_);
    to = connection_.get();
  }
  while (part.iov_len > 0) {
    const ssize_t sent = sendmsg(to, &message, MSG_NOSIGNAL);
    if (sent <= 0) return;
    part.iov_base = static_cast<char*>(part.iov_base) + sent;
    part.iov_len -= static_cast<size_t>(sent);
    message.msg_control = nullptr;
    message.msg_controllen = 0;
  }
}

void FakeAgent::SendRaw(std::string_view bytes) {
  const MutexLock lock(mu_);
  (void)!send(connection_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

void FakeAgent::Reply(const Request& request, int status,
                      std::string_view payload) {
  Send(FrameType::kReply, request.tag,
       wire::Encode(local::Reply{status, payload}));
}

void FakeAgent::SendEvent(int status, const ProcId& source, uint8_t range,
                          const InfoList& infos, uint64_t number) {
  std::string encoded;
  if (EncodeInfos(infos.data(), infos.size(), &encoded) != kSuccess) return;
  if (number == 0) {
    const MutexLock lock(mu_);
    number = ++events_;
  }
  Send(FrameType::kEvent, 0,
       wire::Encode(local::Event{status, ViewOf(source), range, encoded,
                                 ViewOf(source), number}));
}

void FakeAgent::OfferBarrier(bool local_only) {
  auto server = shm::BarrierServer::Create(2, local_only);
  if (!server.ok()) Fatal("gate");
  barrier_ = std::move(server).value();
  auto member =
      shm::BarrierParticipant::Map(barrier_->fd(), barrier_->size(), 1);
  if (!member.ok()) Fatal("gate");
  other_participant_ = std::move(member).value();
  barrier_->Open();
}

void FakeAgent::OfferMailboxes() {
  if (barrier_ == nullptr) OfferBarrier(/*local_only=*/true);
  auto mailboxes = shm::CommitReader::Create(2);
  if (!mailboxes.ok()) Fatal("boxes");
  mailboxes_ = std::move(mailboxes).value();
}

void FakeAgent::BeAgent(uint64_t epoch, uint32_t reattach_ms) {
  const MutexLock lock(mu_);
  epoch_ = epoch;
  reattach_ms_ = reattach_ms;
}

void FakeAgent::OfferNamespace(const std::string& nspace, uint32_t ranks) {
  shm::SegmentContents c;
  c.nspace = nspace;
  c.proc_id_prefix = ProcPrefix(nspace);
  c.self_node = kNoNode;
  c.job = {{PMIX_JOB_SIZE, Encode(Value::Uint32(ranks))}};
  c.apps = {{{PMIX_APP_SIZE, Encode(Value::Uint32(ranks))}}};
  c.nodes = {Node("far", 0, ranks, "")};
  for (Rank rank = 0; rank < ranks; ++rank) {
    shm::ProcContents proc;
    proc.app_rank = proc.global_rank = rank;
    proc.local_rank = static_cast<uint16_t>(rank);
    c.procs.push_back(proc);
  }
  std::unique_ptr<shm::SegmentWriter> segment = MakeSegment(c);
  Send(FrameType::kSegment, 0,
       wire::Encode(local::Segment{nspace, segment->size(), 0, {}}),
       {segment->fd()});
  const MutexLock lock(mu_);
  other_segments_.push_back(std::move(segment));
}

void FakeAgent::Publish(Rank rank, const std::vector<KeyValue>& kvals,
                        const std::vector<std::string>& outside) {
  std::vector<std::string> encoded;
  for (const KeyValue& kval : kvals) encoded.push_back(Encode(kval.value));
  std::vector<shm::TableItem> items;
  for (size_t i = 0; i < kvals.size(); ++i) {
    items.push_back({kvals[i].key, encoded[i]});
  }
  for (const std::string& key : outside) {
    items.push_back({key, {}, shm::kEntryOutsideScope});
  }
  if (!segment_->Publish(rank, items).ok()) Fatal("publish");
}

void FakeAgent::Die() {
  const MutexLock lock(mu_);
  if (connection_) shutdown(connection_.get(), SHUT_RDWR);
}

std::vector<FrameType> FakeAgent::Seen() const {
  const MutexLock lock(mu_);
  std::vector<FrameType> seen;
  for (const Request& request : requests_) seen.push_back(request.type);
  return seen;
}

Request FakeAgent::Await(FrameType type, size_t count) {
  const MutexLock lock(mu_);
  for (;;) {
    size_t seen = 0;
    for (const Request& request : requests_) {
      if (request.type == type && ++seen == count) return request;
    }
    changed_.Wait(mu_);
  }
}

size_t FakeAgent::Count(FrameType type) const {
  const MutexLock lock(mu_);
  size_t seen = 0;
  for (const Request& request : requests_) seen += request.type == type;
  return seen;
}

}  // namespace canopy::client
