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

// The first protocol versions whose clients use the barrier, may reattach to
// another agent, create their directory themselves, use commit mailboxes, and
// never reuse a tag.
constexpr uint64_t kBarrierVersion = 2;
constexpr uint64_t kSuccessorVersion = 3;
constexpr uint64_t kOwnDirectoryVersion = 4;
constexpr uint64_t kMailboxVersion = 5;
constexpr uint64_t kUniqueTagsVersion = 6;

// Returns a random number other than 0.
uint64_t MakeEpoch() {
  uint64_t epoch = 0;
  if (getrandom(&epoch, sizeof epoch, 0) != sizeof epoch) {
    epoch = static_cast<uint64_t>(EventLoop::Now());
  }
  return epoch | 1;
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
  if (is_tool) {
    const Result<ToolHello> hello = ParseToolHello(payload);
    if (!hello.ok()) return hello.status();
    return ProveTool(c, *hello);
  }
  const Result<Hello> hello = ParseHello(payload);
  if (!hello.ok()) return hello.status();
  Result<endpoint::Newcomer> who = ProveRank(c, *hello);
  if (who.ok()) Count(c, hello->claimed);
  return who;
}

Status Admission::Identify(Connection& c, const FrameHeader& header,
                           std::string_view payload) {
  const Result<Hello> hello = ParseHello(payload);
  if (!hello.ok()) return hello.status();
  const Result<endpoint::Newcomer> proven = ProveRank(c, *hello);
  if (!proven.ok()) return proven.status();
  const std::optional<SegmentRef> segment =
      options_->segment(hello->claimed.nspace);
  if (!segment) return Status(kErrNotFound, "its job has no segment");
  Admit(c, *hello);
  Welcome(c, header.tag, hello->version, *segment);
  return Status();
}

Result<endpoint::Newcomer> Admission::ProveTool(const Connection& c,
                                                const ToolHello& hello) const {
  const Result<PeerCredentials> peer = GetPeerCredentials(c.fd.get());
  if (!peer.ok()) return peer.status();
  if (!ServesToolsOf(peer->uid)) {
    return Status(kErrNoPermissions, "is a tool of another user");
  }
  if (jobs_->Find(hello.claimed.nspace) != nullptr) {
    return Status(kErrInvalidCred, "is a tool that claims the name of job " +
                                       hello.claimed.nspace);
  }
  return endpoint::Newcomer{hello.claimed, true, peer->uid, peer->gid,
                            c.relayed};
}

bool Admission::ServesToolsOf(uint32_t uid) const {
  return uid == geteuid() ||
         (options_->serves_job_owners && jobs_->HasJobOf(uid));
}

Status Admission::IdentifyTool(Connection& c, const FrameHeader& header,
                               std::string_view payload, const ProcId& name) {
  const Result<ToolHello> hello = ParseToolHello(payload);
  if (!hello.ok()) return hello.status();
  const Result<endpoint::Newcomer> who = ProveTool(c, *hello);
  if (!who.ok()) return who.status();
  const bool nameless = who->proc.nspace.empty();
  if (nameless && jobs_->Find(name.nspace) != nullptr) {
    return Status(kErrExists,
                  "is a tool that was given the name of job " + name.nspace);
  }
  Result<ProcId> tool = tools_->Admit(nameless ? name : who->proc);
  if (!tool.ok()) return tool.status();
  c.proc = std::move(*tool);
  c.identified = c.is_tool = true;
  c.uid = who->uid;
  c.gid = who->gid;
  c.unique_tags = true;
  c.out.Append(MakeHelloReply(header.tag, c.proc, options_->server,
                              /*segment_size=*/0, {}, {0, epoch_},
                              {/*understood=*/true, 0}));
  return Status();
}

// Checks that the connection belongs to the rank that it claims to be.
Result<endpoint::Newcomer> Admission::ProveRank(const Connection& c,
                                                const Hello& hello) const {
  if (hello.version < kOldestVersion) {
    return Status(kErrHandshakeFailed, "its library speaks protocol version " +
                                           std::to_string(hello.version));
  }
  const std::string claimed = ToString(hello.claimed);
  const auto* rank = jobs_->FindRank(hello.claimed);
  if (rank == nullptr) {
    return Status(kErrInvalidCred,
                  "claims to be " + claimed + ", which does not run here");
  }
  const Result<PeerCredentials> peer = GetPeerCredentials(c.fd.get());
  if (!peer.ok()) return peer.status();
  const uint32_t uid = jobs_->Find(hello.claimed.nspace)->spec->uid;
  const Status identity = options_->identity->Check(
      *peer, {uid, rank->token, rank->pid}, hello.token);
  if (!identity.ok()) {
    return Status(identity.code(),
                  "claims to be " + claimed + ": " + identity.message());
  }
  if (c.counted || rank->connections < options_->max_connections_per_rank) {
    return endpoint::Newcomer{hello.claimed, false, peer->uid, peer->gid,
                              c.relayed};
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

void Admission::Admit(Connection& c, const Hello& hello) {
  Count(c, hello.claimed);
  c.identified = true;
  c.segments.insert(c.proc.nspace);
  c.may_hand_over = hello.version >= kSuccessorVersion;
  c.unique_tags = hello.version >= kUniqueTagsVersion;
  if (hello.version < kOwnDirectoryVersion && options_->make_directory) {
    options_->make_directory(c.proc);
  }
}

void Admission::Welcome(Connection& c, uint64_t tag, uint64_t version,
                        const SegmentRef& segment) {
  std::vector<SharedFd> fds = {{segment.fd, segment.owner}};
  BarrierOffer barrier;
  if (version >= kBarrierVersion) barrier = jobs_->OfferBarrier(c.proc, c.id);
  const MailboxOffer mailboxes = OfferMailboxes(c, version, barrier);
  const LocalJobs::Job& job = *jobs_->Find(c.proc.nspace);
  if (barrier.size > 0) {
    fds.push_back({job.barrier->fd(), job.barrier->owner()});
  }
  if (mailboxes.size > 0) {
    fds.push_back({job.mailboxes->fd(), job.mailboxes->owner()});
  }
  ReattachOffer reattach;
  if (c.may_hand_over) reattach = {reattach_ms_, epoch_};
  c.out.AppendWithFds(
      MakeHelloReply(tag, c.proc, options_->server, segment.size, barrier,
                     reattach, mailboxes),
      std::move(fds));
}

MailboxOffer Admission::OfferMailboxes(Connection& c, uint64_t version,
                                       const BarrierOffer& barrier) {
  if (version < kMailboxVersion) return {};
  if (barrier.size == 0) return {true, 0};
  const uint64_t size = jobs_->OfferMailboxes(c.proc.nspace, barrier.index);
  if (size > 0) c.mailbox = static_cast<int>(barrier.index);
  return {true, size};
}

}  // namespace canopy::local
