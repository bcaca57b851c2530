#include "server/pmi1/command_server.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
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
// Between mcmd=spawn and endcmd: arguments and info of one command.
constexpr size_t kMaxSpawnBytes = 1 << 20;

constexpr char kProcessMapping[] = "PMI_process_mapping";

std::optional<std::string> TextOf(const std::optional<std::string>& encoded) {
  if (!encoded) return std::nullopt;
  const Result<Value> value = DecodeValue(*encoded);
  if (!value.ok()) return std::nullopt;
  const auto text = value->AsString();
  if (!text) return std::nullopt;
  return std::string(*text);
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

// The first command in the socket.
struct Waiting {
  size_t size = 0;  // 0: there is none
  // Something was sent after it, which waits for its answer.
  bool passed = false;
};

Waiting LookAt(int fd) {
  char buffer[kMaxLine + 1];
  const ssize_t n = recv(fd, buffer, sizeof buffer, MSG_PEEK | MSG_DONTWAIT);
  if (n <= 0) return {};
  const std::string_view data(buffer, static_cast<size_t>(n));
  const size_t end = data.find('\n');
  if (end == data.npos) return {};
  // Those lines of a spawn that follow belong to it.
  const bool alone = !data.starts_with("mcmd=");
  return {end + 1, alone && end + 1 < data.size()};
}

// Whether the client has been sent something that it has not read.
bool HasUnread(int fd) {
  int bytes = 0;
  return ioctl(fd, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

}  // namespace

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

CommandServer::CommandServer(const Pmi1Options* options,
                             Connections* connections, InputSink* sink)
    : options_(options), connections_(connections), sink_(sink) {}

// The kernel has room for many answers, and a client asks for one at a time.
void CommandServer::Answer(Connection& c, const std::string& line) {
  const std::string text = line + "\n";
  const ssize_t n =
      send(c.fd.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n != static_cast<ssize_t>(text.size())) {
    return connections_->End(
        c, n < 0 && errno == EPIPE ? "" : "does not read what is sent to it");
  }
  Done(c);
}

void CommandServer::Done(Connection& c) {
  TakeFrom(c.fd.get(), std::exchange(c.command_size, 0));
}

// --------------------------------------------------------------- commands ---

void CommandServer::Handle(Connection& c, std::string_view line) {
  if (c.in_spawn) return HandleSpawnLine(c, line);
  const Command command = ParseCommand(line);
  if (command.name.empty())
    return connections_->End(c, "sent what is no PMI-1 command");
  if (!c.state.initialized && command.name != "init") {
    return connections_->End(
        c, "sent " + command.name.substr(0, 64) + " before init");
  }
  if (command.name == "spawn") {
    c.in_spawn = true;
    c.spawn_bytes = 0;
    c.last_spawn = true;
    c.spawn_total.clear();
    return Done(c);
  }
  HandleCommand(c, command);
}

// One command after the other, and one answer after the last of them.
void CommandServer::HandleSpawnLine(Connection& c, std::string_view line) {
  c.spawn_bytes += line.size() + 1;
  if (c.spawn_bytes > kMaxSpawnBytes) {
    return connections_->End(c, "sent a spawn command that does not end");
  }
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

void CommandServer::HandleCommand(Connection& c, const Command& command) {
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

void CommandServer::HandleInit(Connection& c, const Command& command) {
  const bool known = command.Field("pmi_version") == "1";
  if (known && !std::exchange(c.state.initialized, true)) {
    c.PersistState();
    sink_->OnInput(core::ClientConnected{c.id, c.proc});
  }
  Answer(c, std::string(
                "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=") +
                (known ? "0" : "-1"));
}

void CommandServer::HandlePut(Connection& c, const Command& command) {
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

void CommandServer::HandleGet(Connection& c, const Command& command) {
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

std::optional<std::string> CommandServer::Lookup(const Connection& c,
                                                 const std::string& key) const {
  if (key == kProcessMapping) {
    return TextOf(options_->find_job_key(c.proc.nspace, PMIX_ANL_MAP));
  }
  return TextOf(options_->find_key(c.proc.nspace, key));
}

void CommandServer::HandleBarrier(Connection& c) {
  core::CollectiveArrived arrived;
  arrived.client = c.id;
  arrived.request = kBarrierRequest;
  arrived.op = core::CollectiveOp::kFence;
  arrived.collect_data = true;
  sink_->OnInput(std::move(arrived));
}

void CommandServer::HandleFinalize(Connection& c) {
  if (c.state.finalized) return Answer(c, "cmd=finalize_ack");
  sink_->OnInput(core::FinalizeArrived{c.id, kFinalizeRequest});
}

void CommandServer::HandleAbort(Connection& c, const Command& command) {
  const int code = std::atoi(command.Field("exitcode").c_str());
  core::AbortArrived abort;
  abort.client = c.id;
  abort.status = code;
  abort.text = "PMI abort with exit code " + std::to_string(code);
  sink_->OnInput(std::move(abort));
  Done(c);
}

void CommandServer::Reply(Connection& c, const core::ReplyClient& reply) {
  if (c.ending || c.command_size == 0) return;
  const bool ok = reply.status == kSuccess;
  if (reply.request == kBarrierRequest) {
    c.state.status = static_cast<int16_t>(reply.status);
    c.state.answering = true;
    ++c.state.barriers;
    c.PersistState();
    AnswerBarrier(c);
  } else if (reply.request == kPutRequest) {
    Answer(c, ok ? "cmd=put_result rc=0 msg=success"
                 : "cmd=put_result rc=-1 msg=out_of_memory");
  } else if (reply.request == kFinalizeRequest) {
    c.state.finalized = true;
    c.PersistState();
    Answer(c, "cmd=finalize_ack");
  }
  // The client may have sent more already.
  connections_->Continue(c);
}

void CommandServer::AnswerBarrier(Connection& c) {
  const int status = c.state.status;
  Answer(c, status == kSuccess
                ? "cmd=barrier_out"
                : "cmd=barrier_out rc=-1 msg=failed_with_status_" +
                      std::to_string(status));
  c.state.answering = false;
  c.PersistState();
}

// A command that was answered and is still in the socket: the predecessor died
// between the two. A client has its answer when that is unread in the socket or
// when it has sent its next command.
void CommandServer::FinishRecovered(Connection& c) {
  const Waiting waiting = LookAt(c.fd.get());
  const bool answered = waiting.passed || HasUnread(c.fd.get());
  c.command_size = waiting.size;
  if (c.state.answering && waiting.size > 0 && !answered) {
    return AnswerBarrier(c);
  }
  if (answered) Done(c);
  c.command_size = 0;
  c.state.answering = false;
  c.PersistState();
}

}  // namespace canopy::pmi1
