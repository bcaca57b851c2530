#include "server/pmi/command_server.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/codec/encoder.h"
#include "common/values/value.h"
#include "pmi2.h"
#include "server/pmi/answers.h"

namespace canopy::pmi {
namespace {

// The numbers of the requests to the core that need an answer. A client has at
// most one pending request with each number.
constexpr core::RequestId kFenceRequest = 1;
constexpr core::RequestId kFinalizeRequest = 2;
constexpr core::RequestId kPutRequest = 3;
constexpr core::RequestId kGetRequest = 4;
constexpr core::RequestId kRingPutRequest = 5;

constexpr size_t kMaxPuts = 1 << 16;

bool IsOwnJob(const Connection& c) {
  return c.request.job == c.proc.nspace ||
         (c.state.pmi2 && c.request.job.empty());
}

// The first command in the socket.
struct Waiting {
  std::string text;  // without its delimiters
  Request request;
  size_t size = 0;  // 0: there is none
  // True if the client has sent another command after this one, which shows
  // that it has received the answer.
  bool passed = false;
};

Waiting LookAt(const Connection& c) {
  std::string buffer(kMaxInSocket, 0);
  const ssize_t n =
      recv(c.fd.get(), buffer.data(), buffer.size(), MSG_PEEK | MSG_DONTWAIT);
  if (n <= 0) return {};
  const std::string_view data(buffer.data(), static_cast<size_t>(n));
  const Message message = FirstMessage(c.state.pmi2, data);
  if (message.size == 0) return {};
  // More data proves that the first command was answered, except after a spawn,
  // which has several lines, and for a client whose threads send commands
  // independently.
  const bool alone = !data.starts_with("mcmd=") && !c.state.threaded;
  return {std::string(message.text), RequestIn(message), message.size,
          alone && message.size < data.size()};
}

// Returns true if the client has not read all the data that was sent to it.
bool HasUnread(int fd) {
  int bytes = 0;
  return ioctl(fd, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

}  // namespace

CommandServer::CommandServer(const PmiOptions* options, const Jobs* jobs,
                             Connections* connections,
                             SocketPersistence* persistence, InputSink* sink)
    : key_values_(options, jobs),
      connections_(connections),
      sink_(sink),
      changes_(connections, persistence, sink) {}

void CommandServer::AnswerOk(Connection& c) { Answer(connections_, c, {}); }

void CommandServer::AnswerValue(Connection& c,
                                std::optional<std::string> value) {
  Answer(connections_, c, pmi::Reply::Of(std::move(value)));
}

void CommandServer::Refuse(Connection& c, int code,
                           const std::string& problem) {
  pmi::Refuse(connections_, c, code, problem);
}

// --------------------------------------------------------------- commands ---

void CommandServer::Handle(Connection& c, const Message& message) {
  if (c.spawn != nullptr) return changes_.HandleSpawnLine(c, message.text);
  c.request = RequestIn(message);
  const std::string& name = c.request.name;
  const bool is_init = c.request.operation == Operation::kInit;
  if (name.empty() || (c.state.pmi2 && message.is_line && !is_init))
    return connections_->End(c, "sent an invalid PMI command");
  if (!c.state.initialized && !is_init) {
    return connections_->End(c, "sent " + name.substr(0, 64) + " before init");
  }
  if (c.request.malformed)
    return Refuse(c, PMI2_ERR_INVALID_KEYVALP, "malformed");
  if (c.request.operation == Operation::kSpawn && message.is_line)
    return changes_.HandleSpawnLine(c, message.text);
  if (!changes_.Handle(c)) HandleRequest(c);
}

void CommandServer::HandleRequest(Connection& c) {
  switch (c.request.operation) {
    case Operation::kInit:
      return HandleInit(c);
    case Operation::kFullInit:
      return HandleFullInit(c);
    case Operation::kMaxes:
      return AnswerOk(c);
    case Operation::kAppNumber:
      return AnswerValue(c, std::to_string(c.job->procs[c.proc.rank].app));
    case Operation::kUniverseSize:
      return AnswerValue(c, std::to_string(c.job->universe_size));
    case Operation::kJobName:
      return AnswerValue(c, c.proc.nspace);
    case Operation::kPut:
      return HandlePut(c, core::Scope::kGlobal, c.request.key);
    case Operation::kGet:
      return HandleGet(c);
    case Operation::kFence:
      return HandleFence(c);
    case Operation::kRing:
      return HandleRing(c);
    case Operation::kFinalize:
      return HandleFinalize(c);
    case Operation::kAbort:
      return HandleAbort(c);
    case Operation::kPutNodeAttribute:
      return HandlePut(c, core::Scope::kLocal, NodeKey(c.request.key));
    case Operation::kGetNodeAttribute:
      return HandleGetNodeAttribute(c);
    case Operation::kGetJobAttribute:
      return AnswerValue(c, key_values_.JobAttribute(c, c.request.key));
    default:
      return Refuse(c, PMI2_ERR_OTHER, "not_supported");
  }
}

void CommandServer::HandleInit(Connection& c) {
  const bool pmi2 = c.request.value == "2";
  const bool known = pmi2 || c.request.value == "1";
  const bool changes = c.state.initialized && pmi2 != c.state.pmi2;
  if (known && !std::exchange(c.state.initialized, true)) {
    c.state.pmi2 = pmi2;
    c.PersistState();
    sink_->OnInput(core::ClientConnected{c.id, c.proc});
  }
  pmi::Reply reply;
  reply.code = known && !changes ? PMI2_SUCCESS : PMI2_ERR_INIT;
  reply.value = c.state.pmi2 ? "2" : "1";
  Answer(connections_, c, reply);
}

// Ignores the identity that the client sends, because the socket determines it.
void CommandServer::HandleFullInit(Connection& c) {
  c.state.threaded = c.request.is_threaded;
  c.PersistState();
  pmi::Reply reply;
  reply.facts = {
      {"pmi-version", "2"},
      {"pmi-subversion", "0"},
      {"rank", std::to_string(c.proc.rank)},
      {"size", std::to_string(c.job->procs.size())},
      {"appnum", std::to_string(c.job->procs[c.proc.rank].app)},
      {"debugged", "FALSE"},
      {"pmiverbose", "FALSE"},
  };
  const std::string& parent = c.job->parent.nspace;
  if (!parent.empty()) reply.facts.emplace_back("spawner-jobid", parent);
  Answer(connections_, c, reply);
}

void CommandServer::HandlePut(Connection& c, core::Scope scope,
                              const std::string& pmix_key) {
  if (!IsOwnJob(c)) return Refuse(c, PMI2_ERR_INVALID_ARG, "unknown_kvs");
  if (!IsKey(c.request.key)) return Refuse(c, PMI2_ERR_INVALID_KEY, "bad_key");
  Commit(c, kPutRequest, scope, pmix_key);
}

// Begins a ring. It has two parts: a put, and a fence after the put has ended.
void CommandServer::HandleRing(Connection& c) {
  Commit(c, kRingPutRequest, core::Scope::kGlobal,
         RingKey(c.state.odd_ring, c.proc.rank));
}

void CommandServer::Commit(Connection& c, core::RequestId request,
                           core::Scope scope, const std::string& pmix_key) {
  const std::string& value = c.request.value;
  if (value.size() >= kValueMax)
    return Refuse(c, PMI2_ERR_INVALID_VAL_LENGTH, "value_too_long");
  if (value.find('\0') != value.npos)
    return Refuse(c, PMI2_ERR_INVALID_VAL, "bad_value");
  if (c.num_puts >= kMaxPuts) return Refuse(c, PMI2_ERR_NOMEM, "too_many_keys");
  ++c.num_puts;
  Encoder encoder;
  encoder.PutKval(pmix_key, Value::String(value).raw());
  core::Committed committed{c.id, request, {}};
  committed.data.push_back({scope, Bytes(encoder.Take())});
  sink_->OnInput(std::move(committed));
}

void CommandServer::HandleGet(Connection& c) {
  if (IsOwnJob(c)) return AnswerValue(c, key_values_.Find(c, c.request.key));
  if (!c.state.pmi2) return Refuse(c, PMI2_ERR_INVALID_ARG, "unknown_kvs");
  if (!IsJobName(c.request.job))
    return Refuse(c, PMI2_ERR_INVALID_ARG, "unknown_kvs");
  // Without the number of the rank that has put the value, the agent does not
  // know where to request it, and searches only the data that has arrived at
  // this agent.
  if (!c.request.source || !IsKey(c.request.key)) return AnswerGet(c, kSuccess);
  Ask(c, c.request.key, {c.request.job, *c.request.source}, false);
}

void CommandServer::Ask(const Connection& c, const std::string& key,
                        ProcId target, bool waits) {
  core::GetArrived get;
  get.client = c.id;
  get.request = kGetRequest;
  get.target = std::move(target);
  get.key = key;
  get.refresh = !waits;
  sink_->OnInput(std::move(get));
}

void CommandServer::HandleGetNodeAttribute(Connection& c) {
  std::optional<std::string> value =
      key_values_.NodeAttribute(c, c.request.key);
  if (value || !c.request.waits || !IsKey(c.request.key))
    return AnswerValue(c, std::move(value));
  Ask(c, NodeKey(c.request.key), {c.proc.nspace, kRankUndef}, true);
}

void CommandServer::HandleFence(Connection& c) {
  core::CollectiveArrived arrived;
  arrived.client = c.id;
  arrived.request = kFenceRequest;
  arrived.op = core::CollectiveOp::kFence;
  arrived.collect_data = true;
  sink_->OnInput(std::move(arrived));
}

void CommandServer::HandleFinalize(Connection& c) {
  if (c.state.finalized) return AnswerOk(c);
  sink_->OnInput(core::FinalizeArrived{c.id, kFinalizeRequest});
}

void CommandServer::HandleAbort(Connection& c) {
  core::AbortArrived abort;
  abort.client = c.id;
  abort.status = c.request.exit_code;
  abort.text = "PMI abort with exit code " + std::to_string(abort.status);
  if (c.state.pmi2 && !c.request.value.empty())
    abort.text = c.request.value.substr(0, kValueMax);
  if (c.request.aborts_alone) abort.targets = {c.proc};
  sink_->OnInput(std::move(abort));
  Done(c);
}

// ---------------------------------------------------------------- answers ---

void CommandServer::Reply(Connection& c, const core::ReplyClient& reply) {
  if (c.ending || c.command_size == 0) return;
  switch (reply.request) {
    case kFenceRequest:
      OnFence(c, reply.status);
      break;
    case kPutRequest:
    case kRingPutRequest:
      OnPut(c, reply);
      break;
    case kGetRequest:
      AnswerGet(c, reply.status);
      break;
    case kFinalizeRequest:
      c.state.finalized = true;
      c.PersistState();
      AnswerOk(c);
      break;
    default:
      changes_.Reply(c, reply);
  }
  // The client may have sent another command meanwhile.
  connections_->Continue(c);
}

void CommandServer::OnPut(Connection& c, const core::ReplyClient& reply) {
  if (reply.status != kSuccess)
    return Refuse(c, PMI2_ERR_NOMEM, "out_of_memory");
  if (reply.request == kRingPutRequest) return HandleFence(c);
  AnswerOk(c);
}

void CommandServer::OnFence(Connection& c, int status) {
  c.state.status = static_cast<int16_t>(status);
  c.state.answering = true;
  if (c.request.operation == Operation::kRing)
    c.state.odd_ring = !c.state.odd_ring;
  ++c.state.barriers;
  c.PersistState();
  AnswerFence(c);
}

// Answers a get. The data has been published before the core answers.
void CommandServer::AnswerGet(Connection& c, int status) {
  if (c.request.operation == Operation::kGet) {
    return AnswerValue(c, key_values_.FindOf(c.request.job, c.request.key));
  }
  if (status != kSuccess) {
    return Refuse(c, PMI2_ERR_OTHER,
                  "failed_with_status_" + std::to_string(status));
  }
  AnswerValue(c, key_values_.NodeAttribute(c, c.request.key));
}

void CommandServer::AnswerFence(Connection& c) {
  if (c.state.status != kSuccess) {
    Refuse(c, PMI2_ERR_OTHER,
           "failed_with_status_" + std::to_string(c.state.status));
  } else if (c.request.operation == Operation::kRing) {
    AnswerRing(c);
  } else {
    AnswerOk(c);
  }
  c.state.answering = false;
  c.PersistState();
}

// Answers the ring that has just ended.
void CommandServer::AnswerRing(Connection& c) {
  const Rank rank = c.proc.rank;
  const Rank size = static_cast<Rank>(c.job->procs.size());
  const auto value = [&](Rank neighbour) {
    return key_values_.RingValue(c, !c.state.odd_ring, neighbour % size);
  };
  pmi::Reply reply;
  reply.facts = {{"ring-count", std::to_string(rank)},
                 {"ring-left", value(rank + size - 1)},
                 {"ring-right", value(rank + 1)}};
  Answer(connections_, c, reply);
}

// --------------------------------------------------------------- recovery ---

// The first command may have been answered although it is still in the socket,
// because the predecessor may have died before it removed the command. It was
// answered if the answer is unread in the socket, or if the client has sent its
// next command.
void CommandServer::FinishRecovered(Connection& c) {
  Waiting waiting = LookAt(c);
  c.command_size = waiting.size;
  c.request = std::move(waiting.request);
  // Lines of a spawn have no answers of their own.
  const bool in_lines = c.spawn != nullptr && !c.spawn->complete();
  const bool answered = (waiting.passed && !in_lines) || HasUnread(c.fd.get());
  if (answered) {
    changes_.Forget(c);
  } else if (changes_.FinishRecovered(c, waiting.text)) {
    return;
  } else if (c.state.answering && waiting.size > 0) {
    return AnswerFence(c);
  }
  if (answered) Done(c);
  c.command_size = 0;
  c.state.answering = false;
  c.PersistState();
}

}  // namespace canopy::pmi
