#include "server/pmi1/change_server.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "server/core/step/client_inputs.h"
#include "server/pmi1/answers.h"
#include "server/pmi1/names.h"
#include "server/pmi1/spawn_text.h"

namespace canopy::pmi1 {
namespace {

// Below it are the numbers of requests that end with the connection.
constexpr core::RequestId kFirstChange = 16;

struct Named {
  std::string_view command;
  Change change;
};

constexpr Named kNamed[] = {{"publish_name", Change::kPublish},
                            {"unpublish_name", Change::kUnpublish},
                            {"lookup_name", Change::kLookup}};

Change ChangeOf(std::string_view command) {
  for (const Named& named : kNamed) {
    if (named.command == command) return named.change;
  }
  return Change::kNone;
}

const char* ResultOf(Change change) {
  switch (change) {
    case Change::kPublish:
      return "cmd=publish_result";
    case Change::kUnpublish:
      return "cmd=unpublish_result";
    case Change::kLookup:
      return "cmd=lookup_result";
    default:
      return "cmd=spawn_result";
  }
}

// Clients look at rc; older ones at info, of names.
std::string Success(Change change) {
  return std::string(ResultOf(change)) + " rc=0 msg=success info=ok";
}

std::string Failure(Change change, const std::string& reason) {
  return ResultOf(change) + (" rc=-1 msg=" + reason) + " info=" + reason;
}

// Before the line leaves the socket.
void PersistLine(const Connection& c, std::string_view line) {
  if (!c.spawn_file) return;
  const std::string text = std::string(line) + '\n';
  const size_t before = c.spawn->text().size() - text.size();
  (void)!pwrite(c.spawn_file.get(), text.data(), text.size(),
                static_cast<off_t>(before));
}

// Without the end of a line that was not persisted wholly: that line is still
// in the socket.
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

// It becomes a PMIx key, of which those of the standard are directives.
bool IsServiceName(const std::string& name) {
  return !name.empty() && name.size() < kKeyMax && !name.starts_with("pmix");
}

core::RequestId RequestOf(const Connection& c) {
  return kFirstChange + c.changes.ended;
}

}  // namespace

ChangeServer::ChangeServer(Connections* connections,
                           SocketPersistence* persistence, InputSink* sink)
    : connections_(connections), persistence_(persistence), sink_(sink) {}

core::RequestId ChangeServer::Begin(Connection& c, Change change) {
  c.change = change;
  return RequestOf(c);
}

bool ChangeServer::Handle(Connection& c, const Command& command) {
  const Change change = ChangeOf(command.name);
  if (change == Change::kNone) return false;
  const std::string& service = command.Field("service");
  if (!IsServiceName(service)) {
    Answer(connections_, c, Failure(change, "bad_service"));
    return true;
  }
  const core::RequestId request = Begin(c, change);
  if (change == Change::kPublish) {
    sink_->OnInput(core::PublishArrived{
        c.id, request, Bytes(InfosOfName(service, command.Field("port")))});
  } else if (change == Change::kLookup) {
    sink_->OnInput(core::LookupArrived{c.id, request, {service}, {}});
  } else {
    sink_->OnInput(core::UnpublishArrived{c.id, request, {service}, {}});
  }
  return true;
}

// ------------------------------------------------------------------ spawn ---

void ChangeServer::HandleSpawnLine(Connection& c, std::string_view line) {
  if (c.spawn == nullptr) {
    c.spawn = std::make_unique<SpawnText>();
    persistence_->HoldSpawn(c);
  }
  const int code = c.spawn->Add(line);
  if (code != kSuccess) {
    return connections_->End(c, code == kErrOutOfResource
                                    ? "sent a spawn command that does not end"
                                    : "sent what belongs to no spawn command");
  }
  PersistLine(c, line);
  // The last line stays in the socket until the answer is there.
  if (c.spawn->complete()) return StartSpawn(c);
  Done(c);
}

void ChangeServer::StartSpawn(Connection& c) {
  const core::RequestId request = Begin(c, Change::kSpawn);
  Result<std::string> call = SpawnCallOf(c.spawn->text());
  if (call.ok()) {
    return sink_->OnInput(
        core::SpawnArrived{c.id, request, Bytes(std::move(call).value())});
  }
  Answer(connections_, c, Failure(Change::kSpawn, "bad_spawn_command"));
  EndSpawn(c);
}

void ChangeServer::EndSpawn(Connection& c) {
  c.change = Change::kNone;
  if (std::exchange(c.spawn, nullptr) != nullptr) persistence_->ReleaseSpawn(c);
}

// ---------------------------------------------------------------- answers ---

bool ChangeServer::Reply(Connection& c, const core::ReplyClient& reply) {
  if (c.change == Change::kNone || reply.request != RequestOf(c)) return false;
  // What was looked up is looked up again, should this process die now.
  c.changes.answering = c.change != Change::kLookup;
  c.changes.status = static_cast<int16_t>(reply.status);
  ++c.changes.ended;
  c.PersistChanges();
  AnswerChange(c, reply.payload);
  return true;
}

void ChangeServer::AnswerChange(Connection& c, const Bytes& payload) {
  const Change change = c.change;
  const std::optional<std::string> port =
      change == Change::kLookup ? PortIn(payload.view()) : std::nullopt;
  const bool lost = change == Change::kLookup && !port;
  if (c.changes.status != kSuccess || lost) {
    Answer(connections_, c,
           Failure(change, "status_" + std::to_string(c.changes.status)));
  } else {
    Answer(connections_, c, Success(change) + (port ? " port=" + *port : ""));
  }
  Forget(c);
}

// --------------------------------------------------------------- recovery ---

void ChangeServer::RecoverSpawn(Connection& c, UniqueFd file) {
  c.spawn = ReadLines(file.get());
  c.spawn_file = std::move(file);
}

void ChangeServer::Forget(Connection& c) {
  c.changes.answering = false;
  c.PersistChanges();
  EndSpawn(c);
}

// The first line may have been persisted and then not been taken.
bool ChangeServer::FinishLines(Connection& c, std::string_view line) {
  if (!line.empty() && line == c.spawn->last_line()) Done(c);
  c.command_size = 0;
  return true;
}

bool ChangeServer::FinishRecovered(Connection& c, std::string_view line) {
  if (c.spawn != nullptr && !c.spawn->complete()) return FinishLines(c, line);
  if (c.spawn == nullptr) {
    c.change = ChangeOf(ParseCommand(line).name);
  } else if (line == c.spawn->last_line()) {
    c.change = Change::kSpawn;
  }
  const bool answering = c.changes.answering && c.change != Change::kNone;
  if (answering) {
    AnswerChange(c, {});
  } else if (c.change != Change::kSpawn) {
    Forget(c);
  }
  return answering || c.change == Change::kSpawn;
}

void ChangeServer::Resume(Connection& c) {
  if (c.change == Change::kSpawn) StartSpawn(c);
}

}  // namespace canopy::pmi1
