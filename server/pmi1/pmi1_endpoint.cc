#include "server/pmi1/pmi1_endpoint.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
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
constexpr core::RequestId kPutRequest = 3;

constexpr size_t kMaxPuts = 1 << 16;
constexpr size_t kMaxUnread = 1 << 20;

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

// Removes what was looked at.
void TakeFrom(int fd, size_t size) {
  char buffer[kMaxLine + 1];
  while (size > 0) {
    const ssize_t n =
        recv(fd, buffer, std::min(size, sizeof buffer), MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    size -= static_cast<size_t>(n);
  }
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

void Pmi1Endpoint::AddJob(const core::RegisterJob& registration) {
  Job& job = jobs_[registration.job->nspace];
  job.spec = registration.job;
  job.layout = registration.layout;
}

void Pmi1Endpoint::DropJob(const std::string& nspace) {
  jobs_.erase(nspace);
  for (auto& [id, c] : connections_) {
    if (c->proc.nspace == nspace) End(*c, "");
  }
}

Pmi1Endpoint::Job* Pmi1Endpoint::FindJob(const std::string& nspace) {
  const auto it = jobs_.find(nspace);
  return it == jobs_.end() ? nullptr : &it->second;
}

std::vector<std::string> Pmi1Endpoint::ForJob(const core::PrepareLocal& job) {
  std::vector<std::string> env = {Entry("PMI_SIZE", job.job->procs.size())};
  const size_t here = job.layout->ranks_of_agent(options_.self).size();
  if (here > 0) env.push_back(Entry("MPI_LOCALNRANKS", here));
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
  AddConnection({job.job->nspace, rank}, job.job, UniqueFd(fds[0]));
  PersistSoon(job.job->nspace, rank);
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

Pmi1Endpoint::Connection& Pmi1Endpoint::AddConnection(
    const ProcId& proc, std::shared_ptr<const JobSpec> job, UniqueFd fd) {
  auto connection = std::make_unique<Connection>();
  Connection& c = *connection;
  c.id = MakeClientId(ClientKind::kPmi1, next_number_++);
  c.fd = std::move(fd);
  c.proc = proc;
  c.job = std::move(job);
  const core::ClientId id = c.id;
  connections_.emplace(id, std::move(connection));
  if (Job* known = FindJob(proc.nspace)) known->clients[proc.rank] = id;
  // Edge-triggered, as commands wait in the socket.
  loop_->Watch(c.fd.get(), EPOLLIN | EPOLLRDHUP | EPOLLET,
               [this, id](uint32_t events) { OnEvents(id, events); });
  return c;
}

void Pmi1Endpoint::End(Connection& c, const std::string& reason) {
  if (std::exchange(c.ending, true)) return;
  if (!reason.empty()) {
    Log(core::LogLine::Level::kWarning,
        "closing PMI-1 connection of " + ToString(c.proc) + ": " + reason);
  }
  loop_->Defer([self = self_, id = c.id] {
    if (*self != nullptr) (*self)->Destroy(id);
  });
}

void Pmi1Endpoint::Destroy(core::ClientId id) {
  const auto it = connections_.find(id);
  if (it == connections_.end()) return;
  const std::unique_ptr<Connection> c = std::move(it->second);
  connections_.erase(it);
  loop_->Unwatch(c->fd.get());
  // With something unread in it, its end would be an error to the client.
  TakeFrom(c->fd.get(), kMaxUnread);
  if (c->persisted) {
    // The shim holds the socket for some time longer.
    shutdown(c->fd.get(), SHUT_RDWR);
    options_.release_socket(c->proc.nspace, NameOf(c->proc.rank));
  }
  c->fd.Reset();
  if (Job* job = FindJob(c->proc.nspace)) job->clients.erase(c->proc.rank);
  if (c->state.initialized) sink_->OnInput(core::ClientGone{id});
}

void Pmi1Endpoint::OnEvents(core::ClientId id, uint32_t events) {
  Connection* c = Find(id);
  if (c == nullptr || c->ending) return;
  HandleWaiting(*c);
  if ((events & (EPOLLHUP | EPOLLRDHUP | EPOLLERR)) != 0) End(*c, "");
}

// Whatever was sent before the last command was answered.
void Pmi1Endpoint::HandleWaiting(Connection& c) {
  char buffer[kMaxLine + 1];
  while (!c.ending && c.command_size == 0) {
    const ssize_t n =
        recv(c.fd.get(), buffer, sizeof buffer, MSG_PEEK | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) return End(c, "");
    const std::string_view data(buffer, static_cast<size_t>(n));
    const size_t end = data.find('\n');
    if (end == data.npos) {
      if (data.size() > kMaxLine) End(c, "sent a line that is too long");
      return;
    }
    c.command_size = end + 1;
    HandleLine(c, data.substr(0, end));
  }
}

// The kernel has room for many answers, and a client asks for one at a time.
void Pmi1Endpoint::Answer(Connection& c, const std::string& line) {
  const std::string text = line + "\n";
  const ssize_t n =
      send(c.fd.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n != static_cast<ssize_t>(text.size())) {
    return End(
        c, n < 0 && errno == EPIPE ? "" : "does not read what is sent to it");
  }
  Done(c);
}

void Pmi1Endpoint::Done(Connection& c) {
  TakeFrom(c.fd.get(), std::exchange(c.command_size, 0));
}

void Pmi1Endpoint::PersistState(Connection& c) {
  if (c.states != nullptr) c.states->Set(c.index, c.state);
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
    return Done(c);
  }
  if (!c.state.initialized && command.name != "init") {
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
    if (c.last_spawn) {
      return Answer(c, "cmd=spawn_result rc=-1 msg=not_supported");
    }
  }
  Done(c);
}

void Pmi1Endpoint::HandleCommand(Connection& c, const Command& command) {
  const std::string& name = command.name;
  if (name == "init") {
    HandleInit(c, command);
  } else if (name == "get_maxes") {
    Answer(c, "cmd=maxes kvsname_max=" + std::to_string(kKvsNameMax) +
                  " keylen_max=" + std::to_string(kKeyMax) +
                  " vallen_max=" + std::to_string(kValueMax));
  } else if (name == "get_appnum") {
    Answer(c, "cmd=appnum rc=0 appnum=" +
                  std::to_string(c.job->procs[c.proc.rank].app));
  } else if (name == "get_my_kvsname") {
    Answer(c, "cmd=my_kvsname rc=0 kvsname=" + c.proc.nspace);
  } else if (name == "get_universe_size") {
    Answer(c, "cmd=universe_size rc=0 size=" +
                  std::to_string(c.job->universe_size));
  } else if (name == "put") {
    HandlePut(c, command);
  } else if (name == "get") {
    HandleGet(c, command);
  } else if (name == "barrier_in") {
    HandleBarrier(c);
  } else if (name == "finalize") {
    HandleFinalize(c);
  } else if (name == "abort") {
    HandleAbort(c, command);
  } else {
    Answer(c, "cmd=" + RefusalOf(name.substr(0, 64)) +
                  " rc=-1 msg=not_supported info=not_supported");
  }
}

void Pmi1Endpoint::HandleInit(Connection& c, const Command& command) {
  const bool known = command.Field("pmi_version") == "1";
  if (known && !std::exchange(c.state.initialized, true)) {
    PersistState(c);
    sink_->OnInput(core::ClientConnected{c.id, c.proc});
  }
  Answer(c, std::string(
                "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=") +
                (known ? "0" : "-1"));
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
  } else if (c.num_puts >= kMaxPuts) {
    problem = "too_many_keys";
  }
  if (problem != nullptr) {
    return Answer(c, std::string("cmd=put_result rc=-1 msg=") + problem);
  }
  ++c.num_puts;
  Encoder encoder;
  encoder.PutKval(key, Value::String(value).raw());
  core::Committed committed{c.id, kPutRequest, {}};
  committed.data.push_back({core::Scope::kGlobal, Bytes(encoder.Take())});
  sink_->OnInput(std::move(committed));
}

void Pmi1Endpoint::HandleGet(Connection& c, const Command& command) {
  const std::string& key = command.Field("key");
  const std::optional<std::string> value = Lookup(c, key);
  if (command.Field("kvsname") != c.proc.nspace) {
    Answer(c, "cmd=get_result rc=-1 msg=unknown_kvs value=unknown");
  } else if (!value || value->size() >= kValueMax) {
    Answer(c, "cmd=get_result rc=-1 msg=key_" + key.substr(0, kKeyMax) +
                  "_not_found value=unknown");
  } else {
    Answer(c, "cmd=get_result rc=0 msg=success value=" + *value);
  }
}

std::optional<std::string> Pmi1Endpoint::Lookup(const Connection& c,
                                                const std::string& key) const {
  if (key == kProcessMapping) {
    return TextOf(options_.find_job_key(c.proc.nspace, PMIX_ANL_MAP));
  }
  return TextOf(options_.find_key(c.proc.nspace, key));
}

void Pmi1Endpoint::HandleBarrier(Connection& c) {
  core::CollectiveArrived arrived;
  arrived.client = c.id;
  arrived.request = kBarrierRequest;
  arrived.op = core::CollectiveOp::kFence;
  arrived.collect_data = true;
  sink_->OnInput(std::move(arrived));
}

void Pmi1Endpoint::HandleFinalize(Connection& c) {
  if (c.state.finalized) return Answer(c, "cmd=finalize_ack");
  sink_->OnInput(core::FinalizeArrived{c.id, kFinalizeRequest});
}

void Pmi1Endpoint::HandleAbort(Connection& c, const Command& command) {
  const int code = std::atoi(command.Field("exitcode").c_str());
  core::AbortArrived abort;
  abort.client = c.id;
  abort.status = code;
  abort.text = "PMI abort with exit code " + std::to_string(code);
  sink_->OnInput(std::move(abort));
  Done(c);
}

void Pmi1Endpoint::Reply(const core::ReplyClient& reply) {
  Connection* c = Find(reply.client);
  if (c == nullptr || c->ending || c->command_size == 0) return;
  const bool ok = reply.status == kSuccess;
  if (reply.request == kBarrierRequest) {
    c->state.status = static_cast<int16_t>(reply.status);
    c->state.answering = true;
    ++c->state.barriers;
    PersistState(*c);
    AnswerBarrier(*c);
  } else if (reply.request == kPutRequest) {
    Answer(*c, ok ? "cmd=put_result rc=0 msg=success"
                  : "cmd=put_result rc=-1 msg=out_of_memory");
  } else if (reply.request == kFinalizeRequest) {
    c->state.finalized = true;
    PersistState(*c);
    Answer(*c, "cmd=finalize_ack");
  }
  loop_->Defer([self = self_, id = c->id] {
    Connection* next = *self == nullptr ? nullptr : (*self)->Find(id);
    if (next != nullptr) (*self)->HandleWaiting(*next);
  });
}

void Pmi1Endpoint::AnswerBarrier(Connection& c) {
  const int status = c.state.status;
  Answer(c, status == kSuccess
                ? "cmd=barrier_out"
                : "cmd=barrier_out rc=-1 msg=failed_with_status_" +
                      std::to_string(status));
  c.state.answering = false;
  PersistState(c);
}

}  // namespace canopy::pmi1
