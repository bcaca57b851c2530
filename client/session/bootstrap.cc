#include "client/session/bootstrap.h"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "client/session/agent_greeting.h"
#include "client/session/shm_job.h"
#include "client/session/singleton_job.h"
#include "client/session/version.h"
#include "common/describe.h"
#include "common/local/greeting.h"
#include "common/local_protocol.h"
#include "common/posix/host_name.h"

namespace canopy::client {
namespace {

std::string Variable(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

std::string HelloPayload(const Environment& environment) {
  return wire::Encode(local::Hello{local::kProtocolVersion,
                                   ViewOf(environment.claimed),
                                   environment.token, kVersionText});
}

// Maps the barrier. Without a barrier, fences use messages.
std::unique_ptr<shm::BarrierParticipant> MapBarrier(
    const local::Welcome& welcome, FrameSocket* socket) {
  if (welcome.barrier_size == 0) return nullptr;
  const UniqueFd fd = socket->TakeFd();
  if (!fd) return nullptr;
  auto barrier = shm::BarrierParticipant::Map(fd.get(), welcome.barrier_size,
                                              welcome.index);
  return barrier.ok() ? std::move(barrier).value() : nullptr;
}

// Maps the mailbox. Without a mailbox, commits use messages.
std::unique_ptr<shm::CommitWriter> MapMailbox(
    const local::Welcome& welcome, FrameSocket* socket,
    const shm::BarrierParticipant* barrier) {
  if (welcome.mailboxes_size == 0) return nullptr;
  const UniqueFd fd = socket->TakeFd();
  if (!fd || barrier == nullptr) return nullptr;
  auto mailbox = shm::CommitWriter::Map(fd.get(), welcome.mailboxes_size,
                                        welcome.index, barrier->commits());
  return mailbox.ok() ? std::move(mailbox).value() : nullptr;
}

// Maps the shared memory other than the job's segment.
void MapOptionalParts(const local::Welcome& welcome, Bootstrap* out) {
  out->barrier = MapBarrier(welcome, out->socket.get());
  out->commits = MapMailbox(welcome, out->socket.get(), out->barrier.get());
  // The count of commits shows the agent whether it has read all commits that
  // preceded an arrival at a fence. It also shows the mailbox's writer whether
  // the mailbox may be used yet.
  if (out->barrier != nullptr) {
    out->socket->CountCommits(out->barrier->commits());
  }
}

Status ReadWelcome(const std::string& bytes, Bootstrap* out) {
  local::Welcome welcome;
  const bool ok = wire::Decode(bytes, &welcome);
  const UniqueFd segment = out->socket->TakeFd();
  if (!ok || !segment) {
    return Status(kErrHandshakeFailed, "malformed welcome");
  }
  out->self = OwnerOf(welcome.self);
  out->server = OwnerOf(welcome.server);
  out->reattach_ms = welcome.reattach_ms;
  out->epoch = welcome.epoch;
  MapOptionalParts(welcome, out);
  auto job = ShmJob::Map(segment.get(), welcome.segment_size);
  if (!job.ok()) return job.status();
  out->job = std::move(job).value();
  return Status();
}

}  // namespace

Result<Environment> ReadEnvironment() {
  Environment environment;
  environment.socket = Variable(local::kEnvSocket);
  environment.claimed.nspace = Variable("PMIX_NAMESPACE");
  environment.token = Variable(local::kEnvToken);
  const std::string reattach = Variable(local::kEnvReattach);
  std::from_chars(reattach.data(), reattach.data() + reattach.size(),
                  environment.reattach_ms);
  const std::string rank = Variable("PMIX_RANK");
  if (environment.socket.empty() || environment.claimed.nspace.empty()) {
    return Environment{};
  }
  const char* end = rank.data() + rank.size();
  const auto parsed =
      std::from_chars(rank.data(), end, environment.claimed.rank);
  if (parsed.ec != std::errc() || parsed.ptr != end ||
      environment.claimed.rank > kRankValid ||
      environment.claimed.nspace.size() > kMaxNspaceLen) {
    return Status(kErrBadParam, "PMIX_RANK or PMIX_NAMESPACE is malformed");
  }
  return environment;
}

Result<Bootstrap> ConnectToAgent(const Environment& environment) {
  Result<Greeted> greeted = GreetAgent(
      environment.socket, local::FrameType::kHello, HelloPayload(environment));
  if (!greeted.ok()) return greeted.status();
  Bootstrap result;
  result.environment = environment;
  result.socket = std::move(greeted->socket);
  const Status status = ReadWelcome(greeted->welcome, &result);
  if (!status.ok()) return status;
  return result;
}

Bootstrap MakeAlone(ProcId self) {
  Bootstrap result;
  result.self = std::move(self);
  result.job =
      std::make_unique<SingletonJob>(result.self.nspace, LocalHostName());
  return result;
}

ProcId NameAfterProcess(const std::string& kind) {
  return {kind + "." + LocalHostName() + "." +
              std::to_string(static_cast<long>(getpid())),
          0};
}

Bootstrap MakeSingleton() { return MakeAlone(NameAfterProcess("singleton")); }

Bootstrap MakeServer(const ProcId& self) {
  Bootstrap result;
  result.self = self;
  result.server = self;
  result.job = SingletonJob::OfServer(self.nspace, LocalHostName());
  return result;
}

}  // namespace canopy::client
