// Who may connect, and as whom.
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "server/openpmix/environment.h"
#include "server/openpmix/handshake.h"
#include "server/openpmix/openpmix_endpoint.h"

namespace canopy::openpmix {
namespace {

// The kernel's information is authoritative. A peer that claims otherwise is
// refused, and a munge credential adds nothing to it.
Status CheckCredential(const ConnectMessage& message,
                       const SocketOwner& owner) {
  if (message.security == "none" || message.security == "munge") {
    return Status();
  }
  if (message.security != "native") {
    return Status(kErrInvalidCred, "wants security that is not offered: " +
                                       std::string(message.security));
  }
  if (CredentialUid(message.credential) != owner.uid) {
    return Status(kErrInvalidCred, "is not who its credential says");
  }
  return Status();
}

}  // namespace

bool OpenPmixEndpoint::IsServedUser(uint32_t uid) const {
  return uid == geteuid() || std::ranges::any_of(jobs_, [uid](const auto& job) {
           return job.second.spec->uid == uid;
         });
}

OpenPmixEndpoint::Job* OpenPmixEndpoint::FindJob(const std::string& nspace) {
  const auto it = jobs_.find(nspace);
  return it == jobs_.end() ? nullptr : &it->second;
}

OpenPmixEndpoint::LocalRank* OpenPmixEndpoint::FindRank(const ProcId& proc) {
  Job* job = FindJob(proc.nspace);
  if (job == nullptr) return nullptr;
  const auto rank = job->ranks.find(proc.rank);
  return rank == job->ranks.end() ? nullptr : &rank->second;
}

Status OpenPmixEndpoint::Greet(Connection& c, std::string_view payload) {
  const Result<ConnectMessage> message = ParseConnect(payload);
  if (!message.ok()) return message.status();
  Status credential = CheckCredential(*message, c.owner);
  if (!credential.ok()) return credential;
  const auto traits =
      TraitsOf(message->version, message->codec, message->described);
  if (!traits) {
    return Status(kErrNotSupported, "speaks codec '" +
                                        std::string(message->codec) +
                                        "', which is not known");
  }
  c.traits = *traits;
  c.kind = message->kind;
  c.opening = {static_cast<uint8_t>(c.kind), message->described,
               std::string(message->version), std::string(message->codec)};
  if (message->identity && FindJob(message->identity->nspace) != nullptr) {
    c.proc = *message->identity;
    Identify(c);
    return Status();
  }
  if (IsTool(c.kind)) return GreetTool(c, *message);
  return Status(kErrNotFound, "claims to be " + ToString(*message->identity) +
                                  ", which does not run here");
}

Status OpenPmixEndpoint::GreetTool(Connection& c,
                                   const ConnectMessage& message) {
  if (c.kind == PeerKind::kSingleton) {
    return Status(kErrNotSupported, "is no process of a job");
  }
  if (c.owner.uid != geteuid()) {
    return Status(kErrNoPermissions, "is a tool of another user");
  }
  if (tools_ >= options_.max_tools) {
    return Status(kErrResourceBusy, "is one tool too many");
  }
  const bool nameless = !message.identity;
  c.proc = nameless ? ProcId{options_.server.nspace + "-tool" +
                                 std::to_string(options_.server.rank) + "-" +
                                 std::to_string(next_tool_++),
                             0}
                    : *message.identity;
  c.is_tool = true;
  ++tools_;
  c.out.Append(MakeToolWelcome(nameless ? &c.proc : nullptr, options_.server));
  Accept(c);
  return Status();
}

// The process may have connected before its pid was reported.
void OpenPmixEndpoint::Identify(Connection& c) {
  LocalRank* rank = FindRank(c.proc);
  if (rank == nullptr) return End(c, "claims a rank that does not run here");
  if (rank->pid == 0) {
    c.state = Connection::State::kWaiting;
    return SetHelloTimer(c, "claims a rank that was not started");
  }
  const Status status = Prove(c, rank);
  if (!status.ok()) return End(c, status.message());
  Welcome(c, rank);
}

Status OpenPmixEndpoint::Prove(Connection& c, LocalRank* rank) {
  const uint32_t uid = FindJob(c.proc.nspace)->spec->uid;
  if (c.owner.uid != uid) {
    return Status(kErrInvalidCred,
                  "the job is uid " + std::to_string(uid) + "'s");
  }
  if (!options_.proof->IsHeldBy(c.owner, rank->pid)) {
    return Status(kErrInvalidCred, "neither process " +
                                       std::to_string(rank->pid) +
                                       " nor a descendant of it made this "
                                       "connection");
  }
  if (rank->connections >= options_.max_connections_per_rank) {
    return Status(kErrResourceBusy, "has too many connections already");
  }
  return Status();
}

void OpenPmixEndpoint::Welcome(Connection& c, LocalRank* rank) {
  ++rank->connections;
  if (IsTool(c.kind)) {
    c.out.Append(MakeToolWelcome(nullptr, options_.server));
  } else {
    c.out.Append(MakeClientWelcome(static_cast<uint32_t>(c.id)));
  }
  Accept(c);
}

void OpenPmixEndpoint::Accept(Connection& c) {
  unidentified_.erase(c.id);
  loop_->CancelTimer(std::exchange(c.hello_timer, 0));
  c.identified = true;
  c.state = Connection::State::kServing;
  MarkDirty(c);
  sink_->OnInput(core::ClientConnected{c.id, c.proc, c.is_tool});
}

// ------------------------------------------------------ jobs and processes ---

void OpenPmixEndpoint::AddJob(const core::RegisterJob& registration) {
  Job job;
  job.spec = registration.job;
  job.layout = registration.layout;
  for (const Rank rank : job.layout->ranks_of_agent(options_.self)) {
    job.ranks[rank];
  }
  jobs_[registration.job->nspace] = std::move(job);
}

void OpenPmixEndpoint::DropJob(const std::string& nspace) {
  jobs_.erase(nspace);
  for (auto& [id, c] : connections_) {
    if (!c->is_tool && c->proc.nspace == nspace) End(*c, "its job is over");
  }
}

std::vector<std::string> OpenPmixEndpoint::ForJob(const core::PrepareLocal&) {
  return ServerEnvironment(options_.server, address_);
}

std::vector<std::string> OpenPmixEndpoint::ForRank(const core::PrepareLocal&,
                                                   Rank) {
  return {};
}

ProcessEnvironment::InheritedFd OpenPmixEndpoint::FdForRank(
    const core::PrepareLocal&, Rank) {
  return {};
}

void OpenPmixEndpoint::OnProcess(const std::string& nspace, Rank rank,
                                 int pid) {
  LocalRank* local = FindRank({nspace, rank});
  if (local == nullptr) return;
  local->pid = pid;
  std::vector<core::ClientId> waiting;
  for (const core::ClientId id : unidentified_) {
    const Connection* c = Find(id);
    if (c->state == Connection::State::kWaiting && c->proc.rank == rank &&
        c->proc.nspace == nspace) {
      waiting.push_back(id);
    }
  }
  for (const core::ClientId id : waiting) {
    Connection* c = Find(id);
    if (c == nullptr) continue;
    Identify(*c);
    if (c->state == Connection::State::kServing) {
      if (c->greeting != 0) {
        TakeGreeting(*c);
      } else {
        Persist(*c, c->partial);
      }
    }
    HandlePartial(*c);
  }
}

}  // namespace canopy::openpmix
