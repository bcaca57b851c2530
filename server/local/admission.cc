#include "server/local/admission.h"

#include <sys/random.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/event_loop.h"
#include "common/posix/unix_socket.h"

namespace canopy::local {
namespace {

// Returns a random number other than 0.
uint64_t MakeEpoch() {
  uint64_t epoch = 0;
  if (getrandom(&epoch, sizeof epoch, 0) != sizeof epoch) {
    epoch = static_cast<uint64_t>(EventLoop::Now());
  }
  return epoch | 1;
}

Status ReadHello(std::string_view payload, Hello* hello) {
  if (!wire::Decode(payload, hello)) {
    return Status(kErrUnpackFailure,
                  "its hello is malformed, or of a library of another release");
  }
  if (hello->version == kProtocolVersion) return Status();
  return Status(kErrHandshakeFailed, "its library speaks protocol version " +
                                         std::to_string(hello->version) +
                                         ", and this agent " +
                                         std::to_string(kProtocolVersion));
}

}  // namespace

Admission::Admission(const LocalOptions* options, LocalJobs* jobs)
    : options_(options),
      jobs_(jobs),
      tools_(options->tools != nullptr
                 ? options->tools
                 : std::make_shared<endpoint::ToolRegistry>(
                       options->server, endpoint::kMaxTools)),
      epoch_(MakeEpoch()),
      reattach_ms_(options->reattach_ms) {}

Result<endpoint::Newcomer> Admission::Recognise(Connection& c, bool is_tool,
                                                std::string_view payload) {
  Hello hello;
  const Status status = ReadHello(payload, &hello);
  if (!status.ok()) return status;
  if (is_tool) return ProveTool(c, OwnerOf(hello.claimed));
  Result<endpoint::Newcomer> who = ProveRank(c, hello);
  if (who.ok()) Count(c, who->proc);
  return who;
}

Status Admission::Identify(Connection& c, const FrameHeader& header,
                           std::string_view payload) {
  Hello hello;
  const Status status = ReadHello(payload, &hello);
  if (!status.ok()) return status;
  const Result<endpoint::Newcomer> proven = ProveRank(c, hello);
  if (!proven.ok()) return proven.status();
  const std::optional<SegmentRef> segment =
      options_->segment(proven->proc.nspace);
  if (!segment) return Status(kErrNotFound, "its job has no segment");
  Count(c, proven->proc);
  c.identified = true;
  c.segments.insert(c.proc.nspace);
  Welcome(c, header.tag, *segment);
  return Status();
}

Result<endpoint::Newcomer> Admission::ProveTool(const Connection& c,
                                                const ProcId& claimed) const {
  const Result<PeerCredentials> peer = GetPeerCredentials(c.fd.get());
  if (!peer.ok()) return peer.status();
  if (!ServesToolsOf(peer->uid)) {
    return Status(kErrNoPermissions, "is a tool of another user");
  }
  if (jobs_->Find(claimed.nspace) != nullptr) {
    return Status(kErrInvalidCred,
                  "is a tool that claims the name of job " + claimed.nspace);
  }
  return endpoint::Newcomer{claimed, true, peer->uid, peer->gid, c.relayed};
}

bool Admission::ServesToolsOf(uint32_t uid) const {
  return uid == geteuid() || options_->serves_all_users ||
         (options_->serves_job_owners && jobs_->HasJobOf(uid));
}

Status Admission::IdentifyTool(Connection& c, const FrameHeader& header,
                               std::string_view payload, const ProcId& name) {
  Hello hello;
  const Status status = ReadHello(payload, &hello);
  if (!status.ok()) return status;
  const Result<endpoint::Newcomer> who = ProveTool(c, OwnerOf(hello.claimed));
  if (!who.ok()) return who.status();
  const bool nameless = who->proc.nspace.empty();
  if (nameless && jobs_->Find(name.nspace) != nullptr) {
    return Status(kErrExists,
                  "is a tool that was given the name of job " + name.nspace);
  }
  Result<ProcId> tool = tools_->Admit(nameless ? name : who->proc, who->uid);
  if (!tool.ok()) return tool.status();
  c.proc = std::move(*tool);
  c.identified = c.is_tool = true;
  c.uid = who->uid;
  c.gid = who->gid;
  local::Welcome welcome;
  welcome.self = ViewOf(c.proc);
  welcome.server = ViewOf(options_->server);
  welcome.epoch = epoch_;
  c.out.Append(MakeWelcome(header.tag, welcome));
  return Status();
}

// Users and PIDs of a container have no meaning outside of it, so a rank in a
// pod is identified by its pod and its token.
Status Admission::CheckRank(const Connection& c, const PeerCredentials& peer,
                            const ProcId& proc, const Hello& hello) const {
  const LocalJobs::Processes::Process& rank = *jobs_->FindRank(proc);
  const std::string pod =
      options_->pod_of_job ? options_->pod_of_job(proc.nspace) : "";
  if (pod != c.pod) {
    return Status(kErrInvalidCred, c.pod.empty()
                                       ? "it is a process outside of the "
                                         "rank's pod"
                                       : "it is a process of another pod");
  }
  if (pod.empty()) {
    const uint32_t uid = jobs_->Find(proc.nspace)->spec->uid;
    return options_->identity->Check(peer, {uid, rank.token, rank.pid},
                                     hello.token);
  }
  if (SameToken(hello.token, rank.token)) return Status();
  return Status(kErrInvalidCred, "it does not know the rank's token");
}

// Returns the identity of the rank that the connection claims to be, or an
// error if the connection does not prove this identity.
Result<endpoint::Newcomer> Admission::ProveRank(const Connection& c,
                                                const Hello& hello) const {
  const ProcId proc = OwnerOf(hello.claimed);
  const std::string claimed = ToString(proc);
  const auto* rank = jobs_->FindRank(proc);
  if (rank == nullptr) {
    return Status(kErrInvalidCred,
                  "claims to be " + claimed + ", which does not run here");
  }
  const Result<PeerCredentials> peer = GetPeerCredentials(c.fd.get());
  if (!peer.ok()) return peer.status();
  const Status identity = CheckRank(c, *peer, proc, hello);
  if (!identity.ok()) {
    return Status(identity.code(),
                  "claims to be " + claimed + ": " + identity.message());
  }
  if (c.counted || rank->connections < options_->max_connections_per_rank) {
    return endpoint::Newcomer{proc, false, peer->uid, peer->gid, c.relayed};
  }
  return Status(kErrResourceBusy,
                claimed + " has too many connections already");
}

void Admission::Count(Connection& c, const ProcId& rank) {
  if (std::exchange(c.counted, true)) return;
  c.proc = rank;
  ++jobs_->FindRank(rank)->connections;
}

void Admission::OnClosed(const Connection& c) {
  if (c.is_tool) return tools_->Leave(c.proc);
  LocalRank* rank = c.counted ? jobs_->FindRank(c.proc) : nullptr;
  if (rank != nullptr) --rank->connections;
}

void Admission::Welcome(Connection& c, uint64_t tag,
                        const SegmentRef& segment) {
  const BarrierOffer barrier = jobs_->OfferBarrier(c.proc, c.id);
  local::Welcome welcome;
  welcome.self = ViewOf(c.proc);
  welcome.server = ViewOf(options_->server);
  welcome.segment_size = segment.size;
  welcome.barrier_size = barrier.size;
  welcome.index = barrier.index;
  welcome.reattach_ms = reattach_ms_;
  welcome.epoch = epoch_;
  welcome.mailboxes_size = OfferMailboxes(c, barrier);
  const LocalJobs::Job& job = *jobs_->Find(c.proc.nspace);
  std::vector<SharedFd> fds = {{segment.fd, segment.owner}};
  if (welcome.barrier_size > 0) {
    fds.push_back({job.barrier->fd(), job.barrier->owner()});
  }
  if (welcome.mailboxes_size > 0) {
    fds.push_back({job.mailboxes->fd(), job.mailboxes->owner()});
  }
  c.out.AppendWithFds(MakeWelcome(tag, welcome), std::move(fds));
}

uint64_t Admission::OfferMailboxes(Connection& c, const BarrierOffer& barrier) {
  if (barrier.size == 0) return 0;
  const uint64_t size = jobs_->OfferMailboxes(c.proc.nspace, barrier.index);
  if (size > 0) c.mailbox = static_cast<int>(barrier.index);
  return size;
}

}  // namespace canopy::local
