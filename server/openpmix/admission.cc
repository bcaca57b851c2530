#include "server/openpmix/admission.h"

#include <unistd.h>

#include <string>
#include <utility>

namespace canopy::openpmix {
namespace {

// Returns an error if the client's claim differs from the kernel's information,
// which is authoritative. A munge credential adds no information and is
// ignored.
Status CheckCredential(const ConnectMessage& message, const Connection& c) {
  if (message.security == "none" || message.security == "munge") {
    return Status();
  }
  if (message.security != "native") {
    return Status(kErrInvalidCred, "needs security that is not offered: " +
                                       std::string(message.security));
  }
  // The claimed uid of a relayed client is ignored, because users may have
  // other numbers on the client's machine.
  if (!c.relayed && CredentialUid(message.credential) != c.owner.uid) {
    return Status(kErrInvalidCred, "is not the user of its credential");
  }
  return Status();
}

}  // namespace

Admission::Admission(const OpenPmixOptions* options, Jobs* jobs)
    : options_(options),
      jobs_(jobs),
      tools_(options->tools != nullptr
                 ? options->tools
                 : std::make_shared<endpoint::ToolRegistry>(
                       options->server, endpoint::kMaxTools)) {}

Status Admission::Greet(Connection& c, std::string_view payload) {
  const Result<ConnectMessage> message = ParseConnect(payload);
  if (!message.ok()) return message.status();
  Status credential = CheckCredential(*message, c);
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
  if (message->identity && jobs_->Find(message->identity->nspace) != nullptr) {
    if (c.relayed) {
      return Status(kErrInvalidCred,
                    "is on another machine, which runs no rank of this agent");
    }
    c.proc = *message->identity;
    return Identify(c);
  }
  if (IsTool(c.kind)) return GreetTool(c, *message);
  return Status(kErrNotFound, "claims to be " + ToString(*message->identity) +
                                  ", which does not run here");
}

Status Admission::GreetTool(Connection& c, const ConnectMessage& message) {
  if (c.kind == PeerKind::kSingleton) {
    return Status(kErrNotSupported, "is no process of a job");
  }
  // The endpoint accepts connections of another user only if that user has a
  // job on this node or all users are served, so this is not checked again.
  if (c.owner.uid != geteuid() && !options_->serves_job_owners &&
      !options_->serves_all_users) {
    return Status(kErrNoPermissions, "is a tool of another user");
  }
  c.nameless = !message.identity;
  c.credential = std::string(message.credential);
  c.proc = message.identity.value_or(ProcId());
  c.is_tool = true;
  c.state = Connection::State::kProved;
  return Status();
}

// Also handles a process that connected before its pid was reported.
Status Admission::Identify(Connection& c) {
  Jobs::Process* rank = jobs_->FindRank(c.proc);
  if (rank == nullptr) {
    return Status(kErrNotFound, "claims a rank that does not run here");
  }
  if (rank->pid == 0) {
    c.state = Connection::State::kWaiting;
    return Status();
  }
  Status proven = Prove(c, *rank);
  if (!proven.ok()) return proven;
  c.state = Connection::State::kProved;
  return Status();
}

Status Admission::Admit(Connection& c, const ProcId& name) {
  if (c.is_tool) return AdmitTool(c, name);
  Jobs::Process* rank = jobs_->FindRank(c.proc);
  if (rank == nullptr) return Status(kErrNotFound, "its job is over");
  ++rank->connections;
  c.out.Append(IsTool(c.kind) ? MakeToolWelcome(nullptr, options_->server)
                              : MakeClientWelcome(static_cast<uint32_t>(c.id)));
  c.state = Connection::State::kServing;
  return Status();
}

Status Admission::AdmitTool(Connection& c, const ProcId& name) {
  if (c.nameless && jobs_->Find(name.nspace) != nullptr) {
    return Status(kErrExists, "its assigned name is that of a job");
  }
  Result<ProcId> admitted =
      tools_->Admit(c.nameless ? name : c.proc, c.owner.uid);
  if (!admitted.ok()) return admitted.status();
  c.proc = std::move(*admitted);
  c.out.Append(
      MakeToolWelcome(c.nameless ? &c.proc : nullptr, options_->server));
  c.state = Connection::State::kServing;
  return Status();
}

Status Admission::Prove(const Connection& c, const Jobs::Process& rank) const {
  const uint32_t uid = jobs_->Find(c.proc.nspace)->spec->uid;
  if (c.owner.uid != uid) {
    return Status(kErrInvalidCred,
                  "the job is uid " + std::to_string(uid) + "'s");
  }
  if (!options_->proof->IsHeldBy(c.owner, rank.pid)) {
    return Status(kErrInvalidCred, "neither process " +
                                       std::to_string(rank.pid) +
                                       " nor a descendant of it made this "
                                       "connection");
  }
  if (rank.connections >= options_->max_connections_per_rank) {
    return Status(kErrResourceBusy, "has too many connections already");
  }
  return Status();
}

void Admission::OnClosed(const Connection& c) {
  if (!c.identified) return;
  if (c.is_tool) {
    tools_->Leave(c.proc);
  } else {
    Jobs::Process* rank = jobs_->FindRank(c.proc);
    if (rank != nullptr) --rank->connections;
  }
}

}  // namespace canopy::openpmix
