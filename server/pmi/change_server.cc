#include "server/pmi/change_server.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/refusal.h"
#include "pmi2.h"
#include "server/pmi/answers.h"
#include "server/pmi/names.h"
#include "server/pmi/spawn_text.h"

namespace canopy::pmi {
namespace {

// Lower numbers belong to requests that end with the connection.
constexpr core::RequestId kFirstChange = 16;

bool IsChange(Operation operation) { return operation >= Operation::kPublish; }

bool IsConnect(Operation operation) {
  return operation == Operation::kConnect ||
         operation == Operation::kDisconnect;
}

// Persists a line before it is removed from the socket.
void PersistLine(const Connection& c, std::string_view line) {
  if (!c.spawn_file) return;
  const std::string text = std::string(line) + '\n';
  const size_t before = c.spawn->text().size() - text.size();
  (void)!pwrite(c.spawn_file.get(), text.data(), text.size(),
                static_cast<off_t>(before));
}

// Reads persisted lines. An incomplete last line is ignored, because it is
// still in the socket.
std::unique_ptr<SpawnText> ReadLines(int fd) {
  std::string bytes(kMaxSpawnBytes, 0);
  const ssize_t size = pread(fd, bytes.data(), bytes.size(), 0);
  std::string_view text(bytes.data(),
                        static_cast<size_t>(std::max<ssize_t>(size, 0)));
  auto spawn = std::make_unique<SpawnText>();
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end == text.npos || spawn->Add(text.substr(0, end)) != kSuccess) break;
    text.remove_prefix(end + 1);
  }
  return spawn;
}

// Returns true if this can be the name of a service. The name becomes the key
// of a PMIx_Publish, which would take a reserved key for a directive.
bool IsServiceName(const std::string& name) {
  return !name.empty() && name.size() < kKeyMax && !name.starts_with("pmix") &&
         name.find('\0') == name.npos;
}

bool IsPort(const std::string& port) {
  return port.size() < kValueMax && port.find('\0') == port.npos;
}

bool IsOtherJob(const Connection& c, const std::string& job) {
  return IsJobName(job) && job != c.proc.nspace;
}

std::vector<ProcId> WithJob(const Connection& c, const std::string& job) {
  return {{c.proc.nspace, kRankWildcard}, {job, kRankWildcard}};
}

core::CollectiveOp CollectiveOf(Operation operation) {
  return operation == Operation::kConnect ? core::CollectiveOp::kConnect
                                          : core::CollectiveOp::kDisconnect;
}

core::RequestId RequestOf(const Connection& c) {
  return kFirstChange + c.changes.ended;
}

// Returns the facts that a successor could not obtain by repeating the request:
// the job that was spawned, and the collectives in which the client took part.
std::optional<Outcome> OutcomeOf(const Connection& c, int status,
                                 const Bytes& payload) {
  if (c.outcomes == nullptr) return std::nullopt;
  Outcome outcome{c.change, c.changes.ended, status, c.request.job};
  if (c.change == Operation::kSpawn && status == kSuccess) {
    outcome.job = payload.view();
    return outcome;
  }
  if (IsConnect(c.change) && !IsRefusal(status)) return outcome;
  return std::nullopt;
}

// Returns the job that the last request spawned, from a predecessor's log.
std::optional<std::string> SpawnedJob(const Connection& c) {
  if (c.change != Operation::kSpawn || c.outcomes == nullptr ||
      c.outcomes->all().empty()) {
    return std::nullopt;
  }
  return c.outcomes->all().back().job;
}

// Returns true if the request is complete. A PMI-1 spawn consists of more than
// its first line.
bool IsWholeChange(const Connection& c) {
  return IsChange(c.request.operation) &&
         (c.state.pmi2 || c.request.operation != Operation::kSpawn);
}

// Returns the status for the client. PMI, unlike PMIx, fails to unpublish an
// unknown name.
int StatusOf(Operation change, const core::ReplyClient& reply) {
  const bool none = change == Operation::kUnpublish &&
                    reply.status == kSuccess && reply.payload.view() == "0";
  return none ? kErrNotFound : reply.status;
}

std::optional<std::string> ValueOf(const Connection& c, const Bytes& payload) {
  if (c.change == Operation::kLookup) return PortIn(payload.view());
  if (c.change == Operation::kSpawn) return std::string(payload.view());
  return std::nullopt;
}

}  // namespace

ChangeServer::ChangeServer(Connections* connections,
                           SocketPersistence* persistence, InputSink* sink)
    : connections_(connections), persistence_(persistence), sink_(sink) {}

core::RequestId ChangeServer::Begin(Connection& c, Operation change) {
  c.change = change;
  return RequestOf(c);
}

void ChangeServer::Refuse(Connection& c, int code, const char* problem) {
  pmi::Refuse(connections_, c, code, problem);
}

bool ChangeServer::Handle(Connection& c) {
  const Operation operation = c.request.operation;
  if (!IsChange(operation)) return false;
  if (operation == Operation::kSpawn) {
    HandleSpawn(c);
  } else if (IsConnect(operation)) {
    HandleConnect(c);
  } else {
    HandleName(c);
  }
  return true;
}

void ChangeServer::HandleName(Connection& c) {
  const std::string& service = c.request.key;
  if (!IsServiceName(service))
    return Refuse(c, PMI2_ERR_INVALID_ARG, "bad_service");
  if (!IsPort(c.request.value))
    return Refuse(c, PMI2_ERR_INVALID_ARG, "bad_port");
  const core::RequestId request = Begin(c, c.request.operation);
  if (c.change == Operation::kPublish) {
    sink_->OnInput(core::PublishArrived{
        c.id, request, Bytes(InfosOfName(service, c.request.value))});
  } else if (c.change == Operation::kLookup) {
    sink_->OnInput(core::LookupArrived{c.id, request, {service}, {}});
  } else {
    sink_->OnInput(core::UnpublishArrived{c.id, request, {service}, {}});
  }
}

bool ChangeServer::HasRoomForOutcome(Connection& c) {
  persistence_->HoldOutcomes(c);
  return c.outcomes == nullptr || c.outcomes->has_room();
}

void ChangeServer::HandleConnect(Connection& c) {
  if (!IsOtherJob(c, c.request.job))
    return Refuse(c, PMI2_ERR_INVALID_ARG, "bad_jobid");
  if (!HasRoomForOutcome(c)) return Refuse(c, PMI2_ERR_NOMEM, "too_many");
  core::CollectiveArrived arrived;
  arrived.client = c.id;
  arrived.request = Begin(c, c.request.operation);
  arrived.op = CollectiveOf(c.change);
  arrived.participants = WithJob(c, c.request.job);
  sink_->OnInput(std::move(arrived));
}

// ------------------------------------------------------------------ spawn ---

void ChangeServer::HandleSpawn(Connection& c) {
  if (!HasRoomForOutcome(c)) return Refuse(c, PMI2_ERR_NOMEM, "too_many");
  std::string call = std::exchange(c.request.spawn, {});
  StartSpawn(c, call.empty() ? Result<std::string>(Status(kErrBadParam))
                             : Result<std::string>(std::move(call)));
}

void ChangeServer::HandleSpawnLine(Connection& c, std::string_view line) {
  if (c.spawn == nullptr) {
    c.spawn = std::make_unique<SpawnText>();
    persistence_->HoldSpawn(c);
  }
  const int code = c.spawn->Add(line);
  if (code != kSuccess) {
    return connections_->End(c, code == kErrOutOfResource
                                    ? "sent a spawn command that does not end"
                                    : "sent data outside of a spawn command");
  }
  PersistLine(c, line);
  // The last line stays in the socket until the answer is available.
  if (c.spawn->complete()) return StartLines(c);
  Done(c);
}

void ChangeServer::StartLines(Connection& c) {
  StartSpawn(c, SpawnCallOfLines(c.spawn->text()));
}

void ChangeServer::StartSpawn(Connection& c, Result<std::string> call) {
  const core::RequestId request = Begin(c, Operation::kSpawn);
  if (call.ok()) {
    return sink_->OnInput(
        core::SpawnArrived{c.id, request, Bytes(std::move(call).value())});
  }
  c.request.operation = c.change;
  Refuse(c, PMI2_ERR_INVALID_ARGS, "bad_spawn_command");
  EndSpawn(c);
}

void ChangeServer::EndSpawn(Connection& c) {
  c.change = Operation::kUnknown;
  if (std::exchange(c.spawn, nullptr) != nullptr) persistence_->ReleaseSpawn(c);
}

// ---------------------------------------------------------------- answers ---

bool ChangeServer::Reply(Connection& c, const core::ReplyClient& reply) {
  if (c.change == Operation::kUnknown || reply.request != RequestOf(c))
    return false;
  if (const auto outcome = OutcomeOf(c, reply.status, reply.payload))
    c.outcomes->Add(*outcome);
  // False for a lookup, which a successor repeats if this process dies now.
  c.changes.answering = c.change != Operation::kLookup;
  c.changes.status = static_cast<int16_t>(StatusOf(c.change, reply));
  ++c.changes.ended;
  c.PersistChanges();
  AnswerChange(c, ValueOf(c, reply.payload));
  return true;
}

void ChangeServer::AnswerChange(Connection& c,
                                std::optional<std::string> value) {
  c.request.operation = c.change;
  const bool lost = c.change == Operation::kLookup && !value;
  const bool ok = c.changes.status == kSuccess && !lost;
  Answer(connections_, c,
         ok ? pmi::Reply::Of(std::move(value))
            : pmi::Reply::Error(PMI2_ERR_OTHER,
                                "status_" + std::to_string(c.changes.status)));
  Forget(c);
}

// --------------------------------------------------------------- recovery ---

void ChangeServer::RecoverSpawn(Connection& c, UniqueFd file) {
  c.spawn = ReadLines(file.get());
  c.spawn_file = std::move(file);
}

// Recovers a log. An outcome is logged before the state records the end of its
// request, so the last outcome may belong to a request that is still pending in
// the state.
void ChangeServer::RecoverOutcomes(Connection& c, UniqueFd file) {
  c.outcomes = OutcomeLog::Open(std::move(file));
  if (c.outcomes->all().empty()) return;
  const Outcome& last = c.outcomes->all().back();
  if (last.number != c.changes.ended) return;
  c.changes = {true, static_cast<int16_t>(last.status), last.number + 1};
  c.PersistChanges();
}

std::vector<core::CollectiveCount> ChangeServer::Connects(const Connection& c) {
  std::map<std::pair<Operation, std::string>, uint64_t> ended;
  if (c.outcomes == nullptr) return {};
  for (const Outcome& outcome : c.outcomes->all()) {
    if (IsConnect(outcome.operation)) ++ended[{outcome.operation, outcome.job}];
  }
  std::vector<core::CollectiveCount> counts;
  for (const auto& [series, count] : ended) {
    counts.push_back(
        {CollectiveOf(series.first), WithJob(c, series.second), count});
  }
  return counts;
}

void ChangeServer::Forget(Connection& c) {
  c.changes.answering = false;
  c.PersistChanges();
  EndSpawn(c);
}

// Removes the first line from the socket if it is the last one that the
// predecessor persisted. In this case the predecessor died before it removed
// the line.
bool ChangeServer::FinishLines(Connection& c, std::string_view line) {
  if (!line.empty() && line == c.spawn->last_line()) Done(c);
  c.command_size = 0;
  return true;
}

bool ChangeServer::FinishRecovered(Connection& c, std::string_view line) {
  if (c.spawn != nullptr && !c.spawn->complete()) return FinishLines(c, line);
  if (c.spawn == nullptr) {
    if (IsWholeChange(c)) c.change = c.request.operation;
  } else if (line == c.spawn->last_line()) {
    c.change = Operation::kSpawn;
  }
  const bool answering = c.changes.answering && c.change != Operation::kUnknown;
  if (answering) {
    AnswerChange(c, SpawnedJob(c));
    return true;
  }
  // If this is a PMI-1 spawn, its lines are no longer in the socket.
  if (c.spawn != nullptr && c.change == Operation::kSpawn) return true;
  Forget(c);
  return false;
}

void ChangeServer::Resume(Connection& c) {
  if (c.change == Operation::kSpawn) StartLines(c);
}

}  // namespace canopy::pmi
