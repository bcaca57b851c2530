#include "server/local/request_flow.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "common/describe.h"
#include "common/ids.h"
#include "common/local/calls.h"
#include "common/local/greeting.h"
#include "common/process_keys.h"
#include "common/text.h"
#include "server/core/step/log_line.h"
#include "server/local/frames.h"

namespace canopy::local {
namespace {

constexpr size_t kMaxPendingGets = 1 << 16;
// The limit for names of processes of other jobs in one request.
constexpr size_t kMaxOtherNames = 1 << 16;
constexpr size_t kMaxPendingSpawns = 1 << 10;
constexpr size_t kMaxPendingConnects = 1 << 6;
constexpr size_t kMaxConnectedJobs = 1 << 8;
// Maximum number of different ignored directives that are logged. Processes
// choose the names, so their number would otherwise be unlimited.
constexpr size_t kMaxIgnored = 1 << 8;
// The limit for the copy of a job's data for a tool on another machine.
constexpr off_t kMaxCopy = off_t{32} << 20;

bool IsOfType(const FrameHeader& header, FrameType type) {
  return header.type == static_cast<uint16_t>(type);
}

// The content of a sparse file.
struct FileCopy {
  uint64_t size = 0;
  std::vector<std::pair<uint64_t, std::string>> parts;  // by offset
};

// Returns the content of a file; no value if it is too large or cannot be read.
std::optional<FileCopy> ContentOf(int fd) {
  struct stat info = {};
  if (fstat(fd, &info) != 0) return std::nullopt;
  FileCopy file;
  file.size = static_cast<uint64_t>(info.st_size);
  off_t most = kMaxCopy;
  for (off_t at = 0; (at = lseek(fd, at, SEEK_DATA)) >= 0;) {
    const off_t end = lseek(fd, at, SEEK_HOLE);
    if (end <= at || end - at > most) return std::nullopt;
    std::string part(static_cast<size_t>(end - at), '\0');
    if (pread(fd, part.data(), part.size(), at) != end - at) {
      return std::nullopt;
    }
    file.parts.emplace_back(static_cast<uint64_t>(at), std::move(part));
    most -= end - at;
    at = end;
  }
  return file;
}

}  // namespace

RequestFlow::RequestFlow(const LocalOptions* options, LocalJobs* jobs,
                         InputSink* sink)
    : options_(options), jobs_(jobs), sink_(sink) {}

// --------------------------------------------------------------- requests ---

Status RequestFlow::Handle(Connection& c, const FrameHeader& header,
                           std::string_view payload) {
  TakeCommits(c);
  if (c.ending || IsOfType(header, FrameType::kCommitted)) return Status();
  if (IsOfType(header, FrameType::kBarrierFull)) {
    if (FenceBarrier* barrier = jobs_->FindBarrier(c.proc.nspace)) {
      barrier->OnFull();
    }
    return Status();
  }
  if (IsOfType(header, FrameType::kIgnored)) return LogIgnored(c, payload);
  Result<core::Input> input =
      ParseRequest(c.id, c.proc, header, payload, MaxNames(payload));
  if (input.code() == kErrNotSupported || input.code() == kErrOutOfResource) {
    // A request without a tag gets no answer.
    if (header.tag != 0) {
      c.out.Append(MakeReply(header.tag, input.code(), {}));
    }
    return Status();
  }
  if (!input.ok()) return input.status();
  if (!NotePending(c, header.tag, &*input)) return Status();
  if (const auto* resumed = std::get_if<core::ClientReattached>(&*input)) {
    if (std::exchange(c.reattached, true)) {
      return Status(kErrBadParam, "reattached twice");
    }
    NoteReattached(c, *resumed);
  }
  const bool commits = std::holds_alternative<core::Committed>(*input);
  NoteRequest(c, header, *input);
  sink_->OnInput(std::move(*input));
  if (commits) NoteCommit(c);
  return Status();
}

size_t RequestFlow::MaxNames(std::string_view payload) const {
  if (payload.size() <= kFewNamesPayload) return kMaxProcs;
  return jobs_->NumRanks() + kMaxOtherNames;
}

Status RequestFlow::LogIgnored(const Connection& c, std::string_view payload) {
  Ignored directive;
  if (!wire::Decode(payload, &directive)) {
    return Status(kErrUnpackFailure, "malformed ignored directive");
  }
  if (ignored_.size() >= kMaxIgnored || !options_->log) return Status();
  const std::string what = "the directive " + Printable(directive.key) +
                           " of " + Printable(directive.function);
  if (!ignored_.insert(what).second) return Status();
  options_->log({core::LogLine::Level::kInfo,
                 ToString(c.proc) + ": " + what + " is ignored"});
  return Status();
}

bool RequestFlow::NotePending(Connection& c, uint64_t tag, core::Input* input) {
  if (auto* get = std::get_if<core::GetArrived>(input)) {
    return NoteGet(c, tag, get);
  }
  return !std::holds_alternative<core::SpawnArrived>(*input) ||
         NoteSpawn(c, tag);
}

bool RequestFlow::NoteGet(Connection& c, uint64_t tag, core::GetArrived* get) {
  if (get->target.nspace.empty()) get->target.nspace = c.proc.nspace;
  if (c.gets.size() >= kMaxPendingGets) {
    c.out.Append(MakeReply(tag, kErrOutOfResource, {}));
    return false;
  }
  c.gets[tag] = {get->target, !IsProcessFact(get->key)};
  return true;
}

bool RequestFlow::NoteSpawn(Connection& c, uint64_t tag) {
  if (c.spawns.size() >= kMaxPendingSpawns) {
    c.out.Append(MakeReply(tag, kErrOutOfResource, {}));
    return false;
  }
  c.spawns.insert(tag);
  return true;
}

void RequestFlow::NoteReattached(Connection& c,
                                 const core::ClientReattached& resumed) {
  FenceBarrier* barrier = jobs_->FindBarrier(c.proc.nspace);
  for (const core::CollectiveCount& count : resumed.counts) {
    if (barrier != nullptr && count.op == core::CollectiveOp::kFence &&
        IsWholeJob(c.proc.nspace, count.participants)) {
      barrier->OnReattached(c.proc.rank, c.id, count.ended);
    }
  }
}

void RequestFlow::NoteRequest(Connection& c, const FrameHeader& header,
                              const core::Input& input) {
  const auto* fence = std::get_if<core::CollectiveArrived>(&input);
  if (fence == nullptr) return;
  NoteConnect(c, header.tag, *fence);
  if (fence->op != core::CollectiveOp::kFence ||
      !IsWholeJob(c.proc.nspace, fence->participants)) {
    return;
  }
  FenceBarrier* barrier = jobs_->FindBarrier(c.proc.nspace);
  if (barrier == nullptr) return;
  barrier->OnMessage(c.proc.rank);
  c.fences.push_back(header.tag);
}

// Records the jobs of a connect, up to the limits. The data of these jobs is
// offered in segments; clients request the data of other jobs.
void RequestFlow::NoteConnect(Connection& c, uint64_t tag,
                              const core::CollectiveArrived& connect) {
  if (connect.op != core::CollectiveOp::kConnect ||
      c.connects.size() >= kMaxPendingConnects) {
    return;
  }
  std::set<std::string>& jobs = c.connects[tag];
  for (const ProcId& proc : connect.participants) {
    if (jobs.size() >= kMaxConnectedJobs) return;
    if (proc.nspace != c.proc.nspace) jobs.insert(proc.nspace);
  }
}

void RequestFlow::NoteCommit(Connection& c) {
  if (FenceBarrier* barrier = jobs_->FindBarrier(c.proc.nspace)) {
    barrier->OnCommit(c.proc.rank, c.id);
  }
  CommitMailboxes* mailboxes = jobs_->FindMailboxes(c.proc.nspace);
  if (mailboxes != nullptr && c.mailbox >= 0) {
    mailboxes->OnMessage(static_cast<uint32_t>(c.mailbox));
  }
}

void RequestFlow::TakeCommits(const Connection& c) {
  CommitMailboxes* mailboxes =
      c.mailbox < 0 ? nullptr : jobs_->FindMailboxes(c.proc.nspace);
  if (mailboxes != nullptr) mailboxes->TakeAt(static_cast<uint32_t>(c.mailbox));
}

void RequestFlow::OnClosed(Connection& c) {
  TakeCommits(c);
  FenceBarrier* barrier = jobs_->FindBarrier(c.proc.nspace);
  if (barrier == nullptr) return;
  barrier->OnGone(c.proc.rank, c.id);
  for (size_t i = 0; i < c.fences.size(); ++i) barrier->OnMessageDone(kSuccess);
}

// ---------------------------------------------------------------- answers ---

void RequestFlow::Reply(Connection& c, const core::ReplyClient& reply) {
  NoteReply(c, reply);
  Bytes payload = reply.payload;
  // The spawner of a job is likely to request data of the new job.
  if (c.spawns.erase(reply.request) > 0 && reply.status == kSuccess) {
    OfferSegment(c, std::string(payload.view()));
  }
  // The client may look for data of the connected jobs without a request.
  if (const auto connect = c.connects.extract(reply.request);
      !connect.empty() && reply.status == kSuccess) {
    for (const std::string& nspace : connect.mapped()) OfferSegment(c, nspace);
  }
  if (const auto get = c.gets.extract(reply.request); !get.empty()) {
    const auto& [target, stored] = get.mapped();
    if (reply.status == kSuccess) OfferSegment(c, target.nspace);
    if (stored && IsInSegment(c, target)) payload = Bytes();
  }
  if (payload.size() > kMaxPayload - 64) {
    c.out.Append(MakeReply(reply.request, kErrOutOfResource, {}));
  } else {
    c.out.Append(MakeReplyHead(reply.request, reply.status, payload.size()));
    c.out.Append(payload);
  }
}

void RequestFlow::NoteReply(Connection& c, const core::ReplyClient& reply) {
  const auto fence = std::ranges::find(c.fences, reply.request);
  if (fence == c.fences.end()) return;
  *fence = c.fences.back();
  c.fences.pop_back();
  if (FenceBarrier* barrier = jobs_->FindBarrier(c.proc.nspace)) {
    barrier->OnMessageDone(reply.status);
  }
}

// Returns true if the client finds the data of that rank in a segment that it
// has. For a wildcard the client cannot know where to look.
bool RequestFlow::IsInSegment(const Connection& c, const ProcId& target) const {
  return target.rank <= kRankValid && c.segments.contains(target.nspace) &&
         (!options_->holds || options_->holds(target));
}

void RequestFlow::OfferSegment(Connection& c, const std::string& nspace) {
  if (c.relayed) return OfferCopy(c, nspace);
  if (c.segments.contains(nspace)) return;
  std::optional<SegmentRef> segment = options_->segment(nspace);
  if (!segment) return;
  c.segments.insert(nspace);
  const Segment offer{nspace, segment->size, 0, {}};
  c.out.AppendWithFds(MakeFrame(FrameType::kSegment, 0, offer),
                      {{segment->fd, std::move(segment->owner)}});
}

// Sends a copy of the namespace's data once; data that is committed later is
// sent in answers. The agent writes to the file on this thread, so the copy is
// consistent.
void RequestFlow::OfferCopy(Connection& c, const std::string& nspace) {
  const std::optional<SegmentRef> segment = options_->segment(nspace);
  if (!segment || c.copies.contains(nspace)) return;
  const std::optional<FileCopy> content = ContentOf(segment->fd);
  if (!content) return;
  c.copies.insert(nspace);
  Segment offer{nspace, segment->size, content->size, {}};
  for (const auto& [at, part] : content->parts) {
    offer.copy.push_back({at, part});
  }
  c.out.Append(MakeFrame(FrameType::kSegment, 0, offer));
}

}  // namespace canopy::local
