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
#include "server/pmi1/answers.h"
#include "server/pmi1/spawn_hints.h"

namespace canopy::pmi1 {
namespace {

// Numbers of the requests to the core that want an answer; a client has at
// most one of each under way.
constexpr core::RequestId kBarrierRequest = 1;
constexpr core::RequestId kFinalizeRequest = 2;
constexpr core::RequestId kPutRequest = 3;

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

// Of a pair that whoever spawned the job wants to be there.
std::optional<std::string> PreputValue(const Connection& c,
                                       const std::string& key) {
  if (c.job->parent.nspace.empty()) return std::nullopt;
  for (const std::string& entry :
       c.job->apps[c.job->procs[c.proc.rank].app].env) {
    if (auto value = PreputValueIn(entry, key)) return value;
  }
  return std::nullopt;
}

// The name of the answer to a command that we refuse.
std::string RefusalOf(const std::string& name) {
  if (name == "getbyidx") return "getbyidx_results";
  if (name == "create_kvs") return "newkvs";
  if (name == "destroy_kvs") return "kvs_destroyed";
  return name + "_result";
}

// The first command in the socket.
struct Waiting {
  std::string line;  // without its end
  size_t size = 0;   // 0: there is none
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
  return {std::string(data.substr(0, end)), end + 1,
          alone && end + 1 < data.size()};
}

// Whether the client has been sent something that it has not read.
bool HasUnread(int fd) {
  int bytes = 0;
  return ioctl(fd, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

}  // namespace

CommandServer::CommandServer(const Pmi1Options* options,
                             Connections* connections,
                             SocketPersistence* persistence, InputSink* sink)
    : options_(options),
      connections_(connections),
      sink_(sink),
      changes_(connections, persistence, sink) {}

void CommandServer::Answer(Connection& c, const std::string& line) {
  pmi1::Answer(connections_, c, line);
}

// --------------------------------------------------------------- commands ---

void CommandServer::Handle(Connection& c, std::string_view line) {
  if (c.spawn != nullptr) return changes_.HandleSpawnLine(c, line);
  const Command command = ParseCommand(line);
  if (command.name.empty())
    return connections_->End(c, "sent what is no PMI-1 command");
  if (!c.state.initialized && command.name != "init") {
    return connections_->End(
        c, "sent " + command.name.substr(0, 64) + " before init");
  }
  if (command.name == "spawn") return changes_.HandleSpawnLine(c, line);
  if (!changes_.Handle(c, command)) HandleCommand(c, command);
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
  std::optional<std::string> value =
      TextOf(options_->find_key(c.proc.nspace, key));
  return value ? value : PreputValue(c, key);
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
  } else {
    changes_.Reply(c, reply);
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
  c.command_size = waiting.size;
  // Lines of a spawn have no answers of their own.
  const bool in_lines = c.spawn != nullptr && !c.spawn->complete();
  const bool answered = (waiting.passed && !in_lines) || HasUnread(c.fd.get());
  if (answered) {
    changes_.Forget(c);
  } else if (changes_.FinishRecovered(c, waiting.line)) {
    return;
  } else if (c.state.answering && waiting.size > 0) {
    return AnswerBarrier(c);
  }
  if (answered) Done(c);
  c.command_size = 0;
  c.state.answering = false;
  c.PersistState();
}

}  // namespace canopy::pmi1
