#include "server/pmi1/pmi1_endpoint.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy::pmi1 {
namespace {

// Numbers of the requests to the core that want an answer; a client has at
// most one of each under way.
constexpr core::RequestId kBarrierRequest = 1;
constexpr core::RequestId kFinalizeRequest = 2;

constexpr size_t kReceive = 16 << 10;
// What a client that does not read may leave unread, and what it may put
// before it commits.
constexpr size_t kMaxQueued = 1 << 20;
constexpr size_t kMaxPuts = 1 << 16;

constexpr char kProcessMapping[] = "PMI_process_mapping";

std::optional<std::string> TextOf(const std::optional<std::string>& encoded) {
  if (!encoded) return std::nullopt;
  const Result<Value> value = DecodeValue(*encoded);
  if (!value.ok()) return std::nullopt;
  const auto text = value->AsString();
  if (!text) return std::nullopt;
  return std::string(*text);
}

std::string Entry(const char* name, size_t value) {
  return std::string(name) + "=" + std::to_string(value);
}

// The name of the answer to a command that we refuse.
std::string RefusalOf(const std::string& name) {
  if (name == "publish_name") return "publish_result";
  if (name == "unpublish_name") return "unpublish_result";
  if (name == "lookup_name") return "lookup_result";
  if (name == "spawn") return "spawn_result";
  if (name == "getbyidx") return "getbyidx_results";
  if (name == "create_kvs") return "newkvs";
  if (name == "destroy_kvs") return "kvs_destroyed";
  return name + "_result";
}

}  // namespace

Pmi1Endpoint::Pmi1Endpoint(EventLoop* loop, InputSink* sink,
                           Pmi1Options options)
    : loop_(loop),
      sink_(sink),
      options_(std::move(options)),
      self_(std::make_shared<Pmi1Endpoint*>(this)) {}

Pmi1Endpoint::~Pmi1Endpoint() {
  *self_ = nullptr;
  for (auto& [id, c] : connections_) loop_->Unwatch(c->fd.get());
}

void Pmi1Endpoint::Log(core::LogLine::Level level, std::string text) {
  if (options_.log) options_.log({level, std::move(text)});
}

// ------------------------------------------------------ jobs and processes ---

void Pmi1Endpoint::AddJob(const core::RegisterJob&) {}

void Pmi1Endpoint::DropJob(const std::string& nspace) {
  for (auto& [id, c] : connections_) {
    if (c->proc.nspace == nspace) End(*c, "");
  }
}

std::vector<std::string> Pmi1Endpoint::ForJob(const core::PrepareLocal& job) {
  std::vector<std::string> env = {Entry("PMI_SIZE", job.job->procs.size())};
  const uint32_t node = job.layout->node_of_agent(options_.self);
  if (node != kNoNode) {
    env.push_back(Entry("MPI_LOCALNRANKS", job.layout->ranks_on(node).size()));
  }
  return env;
}

std::vector<std::string> Pmi1Endpoint::ForRank(const core::PrepareLocal& job,
                                               Rank rank) {
  return {Entry("PMI_RANK", rank),
          Entry("MPI_LOCALRANKID", job.layout->numbers(rank).local_rank)};
}

ProcessEnvironment::InheritedFd Pmi1Endpoint::FdForRank(
    const core::PrepareLocal& job, Rank rank) {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
    Log(core::LogLine::Level::kError, "no PMI-1 socket for " +
                                          ToString({job.job->nspace, rank}) +
                                          ": " + std::strerror(errno));
    return {};
  }
  auto connection = std::make_unique<Connection>();
  Connection& c = *connection;
  c.id = MakeClientId(ClientKind::kPmi1, next_number_++);
  c.fd.Reset(fds[0]);
  c.proc = {job.job->nspace, rank};
  c.job = job.job;
  c.watched = EPOLLIN;
  const core::ClientId id = c.id;
  connections_.emplace(id, std::move(connection));
  loop_->Watch(fds[0], EPOLLIN,
               [this, id](uint32_t events) { OnEvents(id, events); });
  return {fds[1], "PMI_FD"};
}

// ------------------------------------------------------------ connections ---

Pmi1Endpoint::Connection* Pmi1Endpoint::Find(core::ClientId client) {
  const auto it = connections_.find(client);
  return it == connections_.end() ? nullptr : it->second.get();
}

void Pmi1Endpoint::Close(core::ClientId client, const std::string& reason) {
  if (Connection* c = Find(client)) End(*c, reason);
}

void Pmi1Endpoint::End(Connection& c, const std::string& reason) {
  if (std::exchange(c.ending, true)) return;
  if (!reason.empty()) {
    Log(core::LogLine::Level::kWarning,
        "closing PMI-1 connection of " + ToString(c.proc) + ": " + reason);
  }
  MarkDirty(c);
}

void Pmi1Endpoint::Destroy(core::ClientId id) {
  const auto it = connections_.find(id);
  const std::unique_ptr<Connection> c = std::move(it->second);
  connections_.erase(it);
  loop_->Unwatch(c->fd.get());
  c->fd.Reset();
  if (c->initialized) sink_->OnInput(core::ClientGone{id});
}

void Pmi1Endpoint::OnEvents(core::ClientId id, uint32_t events) {
  Connection* c = Find(id);
  if (c == nullptr || c->ending) return;
  if ((events & EPOLLOUT) != 0) MarkDirty(*c);
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) Receive(*c);
}

void Pmi1Endpoint::Receive(Connection& c) {
  char buffer[kReceive];
  const ssize_t n = recv(c.fd.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return End(c, "");
  c.partial.append(buffer, static_cast<size_t>(n));
  HandleLines(c);
}

void Pmi1Endpoint::HandleLines(Connection& c) {
  size_t used = 0;
  while (!c.ending) {
    const size_t end = c.partial.find('\n', used);
    if (end == std::string::npos) break;
    const std::string line = c.partial.substr(used, end - used);
    used = end + 1;
    if (line.size() > kMaxLine) return End(c, "sent a line that is too long");
    HandleLine(c, line);
  }
  c.partial.erase(0, used);
  if (c.partial.size() > kMaxLine) End(c, "sent a line that is too long");
}

void Pmi1Endpoint::Send(Connection& c, const std::string& line) {
  c.out.Append(line + "\n");
  MarkDirty(c);
}

void Pmi1Endpoint::MarkDirty(Connection& c) {
  if (std::exchange(c.dirty, true)) return;
  dirty_.push_back(c.id);
  if (dirty_.size() > 1) return;
  loop_->Defer([self = self_] {
    if (*self != nullptr) (*self)->FlushDirty();
  });
}

void Pmi1Endpoint::FlushDirty() {
  std::vector<core::ClientId> dirty;
  dirty.swap(dirty_);
  for (const core::ClientId id : dirty) {
    Connection* c = Find(id);
    if (c == nullptr) continue;
    c->dirty = false;
    Flush(*c);
  }
}

void Pmi1Endpoint::Flush(Connection& c) {
  const OutQueue::State state = c.out.Flush(c.fd.get());
  if (c.ending || state == OutQueue::State::kBroken) return Destroy(c.id);
  if (c.out.size() > kMaxQueued) {
    return End(c, "does not read what is sent to it");
  }
  const uint32_t events =
      c.out.empty() ? EPOLLIN : static_cast<uint32_t>(EPOLLOUT);
  if (events == c.watched) return;
  c.watched = events;
  loop_->Rewatch(c.fd.get(), events);
}

// --------------------------------------------------------------- commands ---

void Pmi1Endpoint::HandleLine(Connection& c, std::string_view line) {
  if (c.in_spawn) return HandleSpawnLine(c, line);
  const Command command = ParseCommand(line);
  if (command.name.empty()) return End(c, "sent what is no PMI-1 command");
  if (command.name == "spawn") {
    c.in_spawn = true;
    c.last_spawn = true;
    c.spawn_total.clear();
    return;
  }
  if (!c.initialized && command.name != "init") {
    return End(c, "sent " + command.name.substr(0, 64) + " before init");
  }
  HandleCommand(c, command);
}

// One command after the other, and one answer after the last of them.
void Pmi1Endpoint::HandleSpawnLine(Connection& c, std::string_view line) {
  if (line.starts_with("totspawns=")) {
    c.spawn_total = line.substr(10);
  } else if (line.starts_with("spawnssofar=")) {
    c.last_spawn = c.spawn_total.empty() || line.substr(12) == c.spawn_total;
  } else if (line == "endcmd") {
    c.in_spawn = false;
    if (c.last_spawn) Send(c, "cmd=spawn_result rc=-1 msg=not_supported");
  }
}

void Pmi1Endpoint::HandleCommand(Connection& c, const Command& command) {
  const std::string& name = command.name;
  if (name == "init") {
    HandleInit(c, command);
  } else if (name == "get_maxes") {
    Send(c, "cmd=maxes kvsname_max=" + std::to_string(kKvsNameMax) +
                " keylen_max=" + std::to_string(kKeyMax) +
                " vallen_max=" + std::to_string(kValueMax));
  } else if (name == "get_appnum") {
    Send(c, "cmd=appnum rc=0 appnum=" +
                std::to_string(c.job->procs[c.proc.rank].app));
  } else if (name == "get_my_kvsname") {
    Send(c, "cmd=my_kvsname rc=0 kvsname=" + c.proc.nspace);
  } else if (name == "get_universe_size") {
    Send(c,
         "cmd=universe_size rc=0 size=" + std::to_string(c.job->universe_size));
  } else if (name == "put") {
    HandlePut(c, command);
  } else if (name == "get") {
    HandleGet(c, command);
  } else if (name == "barrier_in") {
    HandleBarrier(c);
  } else if (name == "finalize") {
    sink_->OnInput(core::FinalizeArrived{c.id, kFinalizeRequest});
  } else if (name == "abort") {
    HandleAbort(c, command);
  } else {
    Send(c, "cmd=" + RefusalOf(name.substr(0, 64)) +
                " rc=-1 msg=not_supported info=not_supported");
  }
}

void Pmi1Endpoint::HandleInit(Connection& c, const Command& command) {
  const bool known = command.Field("pmi_version") == "1";
  Send(c,
       std::string("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=") +
           (known ? "0" : "-1"));
  if (!known || std::exchange(c.initialized, true)) return;
  sink_->OnInput(core::ClientConnected{c.id, c.proc});
}

void Pmi1Endpoint::HandlePut(Connection& c, const Command& command) {
  const std::string& key = command.Field("key");
  const std::string& value = command.Field("value");
  const char* problem = nullptr;
  if (command.Field("kvsname") != c.proc.nspace) {
    problem = "unknown_kvs";
  } else if (key.empty() || key.size() >= kKeyMax) {
    problem = "bad_key";
  } else if (value.size() >= kValueMax) {
    problem = "value_too_long";
  } else if (c.puts.size() >= kMaxPuts) {
    problem = "too_many_keys";
  }
  if (problem != nullptr) {
    return Send(c, std::string("cmd=put_result rc=-1 msg=") + problem);
  }
  c.puts.insert_or_assign(key, value);
  Send(c, "cmd=put_result rc=0 msg=success");
}

void Pmi1Endpoint::HandleGet(Connection& c, const Command& command) {
  const std::string& key = command.Field("key");
  const std::optional<std::string> value = Lookup(c, key);
  if (command.Field("kvsname") != c.proc.nspace) {
    Send(c, "cmd=get_result rc=-1 msg=unknown_kvs value=unknown");
  } else if (!value || value->size() >= kValueMax) {
    Send(c, "cmd=get_result rc=-1 msg=key_" + key.substr(0, kKeyMax) +
                "_not_found value=unknown");
  } else {
    Send(c, "cmd=get_result rc=0 msg=success value=" + *value);
  }
}

std::optional<std::string> Pmi1Endpoint::Lookup(const Connection& c,
                                                const std::string& key) const {
  if (key == kProcessMapping) {
    return TextOf(options_.find_job_key(c.proc.nspace, PMIX_ANL_MAP));
  }
  if (const auto it = c.puts.find(key); it != c.puts.end()) return it->second;
  return TextOf(options_.find_key(c.proc.nspace, key));
}

void Pmi1Endpoint::HandleBarrier(Connection& c) {
  if (std::exchange(c.in_barrier, true)) {
    return End(c, "entered a barrier twice");
  }
  if (!c.puts.empty()) {
    Encoder encoder;
    for (const auto& [key, value] : c.puts) {
      encoder.PutKval(key, Value::String(value).raw());
    }
    c.puts.clear();
    core::Committed committed{c.id, 0, {}};
    committed.data.push_back({core::Scope::kGlobal, Bytes(encoder.Take())});
    sink_->OnInput(std::move(committed));
  }
  core::CollectiveArrived arrived;
  arrived.client = c.id;
  arrived.request = kBarrierRequest;
  arrived.op = core::CollectiveOp::kFence;
  arrived.collect_data = true;
  sink_->OnInput(std::move(arrived));
}

void Pmi1Endpoint::HandleAbort(Connection& c, const Command& command) {
  const int code = std::atoi(command.Field("exitcode").c_str());
  core::AbortArrived abort;
  abort.client = c.id;
  abort.status = code;
  abort.text = "PMI abort with exit code " + std::to_string(code);
  sink_->OnInput(std::move(abort));
}

void Pmi1Endpoint::Reply(const core::ReplyClient& reply) {
  Connection* c = Find(reply.client);
  if (c == nullptr || c->ending) return;
  const bool ok = reply.status == kSuccess;
  if (reply.request == kBarrierRequest && std::exchange(c->in_barrier, false)) {
    Send(*c, ok ? "cmd=barrier_out"
                : "cmd=barrier_out rc=-1 msg=failed_with_status_" +
                      std::to_string(reply.status));
  } else if (reply.request == kFinalizeRequest) {
    Send(*c, "cmd=finalize_ack");
  }
}

}  // namespace canopy::pmi1
