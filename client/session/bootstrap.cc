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
#include "common/local_protocol.h"
#include "common/posix/host_name.h"
#include "common/wire.h"

namespace canopy::client {
namespace {

std::string Variable(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

std::string HelloPayload(const Environment& environment) {
  WireWriter out;
  out.Uint(local::kProtocolVersion);
  out.Proc(environment.claimed);
  out.String(environment.token);
  out.String(kVersionText);
  return out.Take();
}

// Maps the barrier; without one fences use messages. `index` is the process's
// place in it.
std::unique_ptr<shm::BarrierParticipant> MapBarrier(WireReader* in,
                                                    FrameSocket* socket,
                                                    uint32_t* index) {
  const uint64_t size = in->Uint();
  *index = in->Uint32();
  if (!in->ok() || size == 0) return nullptr;
  const UniqueFd fd = socket->TakeFd();
  if (!fd) return nullptr;
  auto barrier = shm::BarrierParticipant::Map(fd.get(), size, *index);
  return barrier.ok() ? std::move(barrier).value() : nullptr;
}

// Maps the mailbox; without one commits use messages.
std::unique_ptr<shm::CommitWriter> MapMailbox(
    WireReader* in, FrameSocket* socket, uint32_t index,
    const shm::BarrierParticipant* barrier) {
  const uint64_t size = in->Uint();
  if (!in->ok() || size == 0) return nullptr;
  const UniqueFd fd = socket->TakeFd();
  if (!fd || barrier == nullptr) return nullptr;
  auto mailbox =
      shm::CommitWriter::Map(fd.get(), size, index, barrier->commits());
  return mailbox.ok() ? std::move(mailbox).value() : nullptr;
}

// Reads the parts that follow the job's segment; older agents send fewer.
void ReadOptionalParts(WireReader* in, Bootstrap* out) {
  uint32_t index = 0;
  if (!in->rest().empty()) {
    out->barrier = MapBarrier(in, out->socket.get(), &index);
  }
  if (!in->rest().empty()) {
    out->reattach_ms = in->Uint32();
    out->epoch = in->Uint();
  }
  if (!in->rest().empty()) {
    out->commits = MapMailbox(in, out->socket.get(), index, out->barrier.get());
  }
  // With this count the agent knows whether it has read all commits sent before
  // the arrivals at a fence, and the mailbox whether it may be used yet.
  if (out->barrier != nullptr) {
    out->socket->CountCommits(out->barrier->commits());
  }
}

Status ReadWelcome(const std::string& welcome, Bootstrap* out) {
  WireReader in(welcome);
  out->self = in.Proc();
  out->server = in.Proc();
  const uint64_t size = in.Uint();
  const UniqueFd segment = out->socket->TakeFd();
  if (!in.ok() || !segment) {
    return Status(kErrHandshakeFailed, "malformed welcome");
  }
  ReadOptionalParts(&in, out);
  auto job = ShmJob::Map(segment.get(), size);
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
