#include "server/core/iof/forwarding.h"

#include <algorithm>
#include <utility>

#include "common/host_op.h"
#include "common/status.h"
#include "server/core/request_number.h"

namespace canopy::core {
namespace {

// Time for which the controller keeps a puller whose client may be gone, and
// the unread output of a finished job, if no read arrives. In nanoseconds.
constexpr TimeNs kLinger = 60'000'000'000;

// Maximum number of ended pullers that are recorded for each job.
constexpr size_t kMaxEnded = 256;

constexpr uint16_t kOutputs = kOutputChannel | kErrorChannel;

// Returns the ranks of the targets; an empty set if the targets include all
// ranks.
std::set<Rank> RanksOf(const std::vector<ProcId>& targets) {
  std::set<Rank> ranks;
  for (const ProcId& target : targets) {
    if (target.rank == kRankWildcard) return {};
    ranks.insert(target.rank);
  }
  return ranks;
}

bool MayBePulled(const JobForwarding& forwarding, uint16_t channels) {
  const uint16_t outputs = channels & kOutputs;
  if (outputs != 0) return (outputs & ~forwarding.channels) == 0;
  return (channels & forwarding.channels) != 0;
}

}  // namespace

Forwarding::Forwarding(NodeId self, const JobTable& jobs, JobEngine& engine)
    : self_(self), jobs_(jobs), engine_(engine), pushes_(jobs, engine) {}

// ------------------------------------------------------ the caller's agent ---

int Forwarding::Refusal(const ProcId* caller, const HostCallArrived& in,
                        OutputRead* read) const {
  if (caller == nullptr || !jobs_.OwnerOf(*caller)) return kErrInit;
  if (in.targets.empty() ||
      (in.op == HostOp::kReadOutput && !wire::Decode(in.call.view(), read))) {
    return kErrBadParam;
  }
  const std::string& nspace = in.targets.front().nspace;
  for (const ProcId& target : in.targets) {
    if (target.nspace.empty() || target.nspace != nspace) return kErrBadParam;
  }
  size_t count = 0;
  for (auto it = reads_.lower_bound({*caller, 0});
       it != reads_.end() && it->first.proc == *caller; ++it) {
    count += it->second.client == in.client ? 1 : 0;
  }
  return count < kMaxReads ? kSuccess : kErrOutOfResource;
}

void Forwarding::OnArrived(const StepContext& step, const HostCallArrived& in) {
  const ProcId* caller = jobs_.ProcOf(in.client);
  OutputRead read;
  const int refusal = Refusal(caller, in, &read);
  if (refusal != kSuccess) {
    step.out.push_back(ReplyClient{in.client, in.request, refusal, {}});
    return;
  }
  const Owner owner = *jobs_.OwnerOf(*caller);
  const uint64_t number = RequestNumber(jobs_, *caller, in.request);
  HostRequest request{*caller,    number,    in.op,
                      owner.uid,  owner.gid, in.targets.front().nspace,
                      in.targets, in.call};
  if (in.op == HostOp::kReadOutput) Own(in, request, std::move(read));
  const auto added = reads_.insert_or_assign(
      {*caller, number}, Read{in.client, in.request, request});
  if (!IsBehindPush(added.first)) Send(step, request);
}

// Prepares the request that ends the puller. It has the number of the puller's
// last read.
void Forwarding::Own(const HostCallArrived& in, const HostRequest& request,
                     OutputRead read) {
  const OwnedId id{{request.proc, read.handle}, request.nspace};
  ends_.erase(id);
  if (read.ends) {
    owned_.erase(id);
    return;
  }
  Owned& owned = owned_[id];
  owned.client = in.client;
  owned.end = request;
  read.ends = true;
  owned.end.call = Bytes(wire::Encode(read));
}

// Returns true if the push must wait for the answer to the previous push,
// because the input of one process must arrive in order.
bool Forwarding::IsBehindPush(Reads::const_iterator read) const {
  const HostRequest& push = read->second.request;
  if (push.op != HostOp::kPushInput) return false;
  for (auto it = reads_.lower_bound({push.proc, 0}); it != read; ++it) {
    const HostRequest& before = it->second.request;
    if (before.op == push.op && before.nspace == push.nspace) return true;
  }
  return false;
}

void Forwarding::FindNextPush(const HostRequest& before) const {
  if (before.op != HostOp::kPushInput) return;
  for (auto it = reads_.lower_bound({before.proc, 0});
       it != reads_.end() && it->first.proc == before.proc; ++it) {
    const HostRequest& next = it->second.request;
    if (next.op != before.op || next.nspace != before.nspace) continue;
    Post(PushDue{it->first.proc, it->first.request});
    return;
  }
}

void Forwarding::SendPush(const StepContext& step, const PushDue& push) {
  const auto it = reads_.find({push.proc, push.request});
  if (it == reads_.end()) return;
  const HostRequest request = it->second.request;
  Send(step, request);
}

void Forwarding::Send(const StepContext& step, const HostRequest& request) {
  const NodeId to = engine_.ControllerOf(request.nspace);
  if (to == self_) return OnRequest(step, self_, request);
  step.out.push_back(SendPeer{PeerMessage{self_, to, request}});
}

bool Forwarding::OnReply(const StepContext& step, NodeId src,
                         const HostReply& reply) {
  const auto it = reads_.find({reply.proc, reply.request});
  if (it == reads_.end()) return OnEnded(reply);
  if (it->second.request.nspace != reply.nspace) return false;
  // Another agent has become the controller; the read was sent to it as well.
  if (src != engine_.ControllerOf(reply.nspace)) return true;
  const Read read = std::move(it->second);
  reads_.erase(it);
  step.out.push_back(
      ReplyClient{read.client, read.number, reply.status, reply.results});
  if (reply.status != kSuccess) Disown(read.request);
  FindNextPush(read.request);
  return true;
}

bool Forwarding::OnEnded(const HostReply& reply) {
  return std::erase_if(ends_, [&](const auto& end) {
           return end.second.proc == reply.proc &&
                  end.second.request == reply.request &&
                  end.second.nspace == reply.nspace;
         }) > 0;
}

// A rejected read has created no puller, so there is none to end.
void Forwarding::Disown(const HostRequest& request) {
  OutputRead read;
  if (request.op != HostOp::kReadOutput ||
      !wire::Decode(request.call.view(), &read)) {
    return;
  }
  owned_.erase({{request.proc, read.handle}, request.nspace});
}

// The client gets no more answers; its pullers must be ended at the
// controllers.
void Forwarding::OnClientGone(const StepContext& step, ClientId client) {
  std::erase_if(
      reads_, [&](const auto& entry) { return entry.second.client == client; });
  std::vector<HostRequest> ends;
  std::erase_if(owned_, [&](const auto& entry) {
    if (entry.second.client != client) return false;
    ends.push_back(entry.second.end);
    ends_[entry.first] = entry.second.end;
    return true;
  });
  for (const HostRequest& end : ends) Send(step, end);
}

// ------------------------------------------------ the agent that controls ---

uint64_t Forwarding::FreeForCaches() const {
  uint64_t taken = 0;
  for (const auto& [nspace, source] : sources_) taken += source.cache.limit();
  return kAllCaches - std::min(kAllCaches, taken);
}

Forwarding::Source* Forwarding::SourceOf(const std::string& nspace) {
  const auto known = sources_.find(nspace);
  if (known != sources_.end()) return &known->second;
  const Job* job = jobs_.Find(nspace);
  if (job == nullptr || engine_.ControllerOf(nspace) != self_) return nullptr;
  const JobSpec& spec = *job->spec;
  const auto nodes = static_cast<uint32_t>(spec.nodes.size());
  OutputCache cache(nodes, spec.forwarding, FreeForCaches());
  return &sources_
              .emplace(nspace,
                       Source{std::move(cache), {}, {}, spec.uid, false})
              .first->second;
}

void Forwarding::OnRequest(const StepContext& step, NodeId src,
                           const HostRequest& request) {
  const Asker asker{src, request.proc, request.request, request.nspace};
  if (const int before = refusals_.StatusOf(step.now, request);
      before != kSuccess) {
    return Answer(step, asker, before, {});
  }
  if (request.op == HostOp::kPushInput) {
    const std::optional<int> status = pushes_.OnRequest(step, src, request);
    PassPushed(step);
    if (status == kSuccess) return Answer(step, asker, kSuccess, {});
    if (status) Refuse(step, src, request, *status);
    return;
  }
  const int status = Serve(step, src, request);
  if (status != kSuccess) Refuse(step, src, request, status);
}

void Forwarding::Refuse(const StepContext& step, NodeId src,
                        const HostRequest& request, int status) {
  refusals_.Add(step.now, request, status);
  Answer(step, {src, request.proc, request.request, request.nspace}, status,
         {});
}

// Serves the request. Returns kSuccess if it was answered or will be answered
// later.
int Forwarding::Serve(const StepContext& step, NodeId src,
                      const HostRequest& request) {
  OutputRead read;
  if (!wire::Decode(request.call.view(), &read)) return kErrBadParam;
  const Asker asker{src, request.proc, request.request, request.nspace};
  Source* source = SourceOf(request.nspace);
  if (source == nullptr) {
    return AnswerOver(step, asker, read) ? kSuccess : kErrNotFound;
  }
  if (const int status = Check(request, read, *source); status != kSuccess) {
    return status;
  }
  if (read.ends) {
    End(step, source, request, read);
    Answer(step, asker, kSuccess, {});
    DropDone(request.nspace);
    return kSuccess;
  }
  if (HasEnded(step.now, *source, request, read)) {
    AnswerComplete(step, asker, read);
    return kSuccess;
  }
  if (IsLate(*source, request, read)) return kSuccess;
  Entry* entry = FindOrAdd(step.now, request, read, source);
  if (entry == nullptr) return kErrOutOfResource;
  entry->node = src;
  Expire(entry, source->over ? step.now + kLinger : kNever);
  if (read.cursor.empty()) {
    Answer(step, asker, kSuccess, Bytes(wire::Encode(entry->puller.Welcome())));
    return kSuccess;
  }
  entry->asker = asker;
  if (entry->puller.HasNews()) AnswerNews(step, entry);
  return kSuccess;
}

// Answers, as complete, a read that ends its puller, and a read with a cursor
// if the job is over. Returns false for any other read.
bool Forwarding::AnswerOver(const StepContext& step, const Asker& asker,
                            const OutputRead& read) {
  if (!read.ends && (read.cursor.empty() || !jobs_.WasRemoved(asker.nspace))) {
    return false;
  }
  AnswerComplete(step, asker, read);
  return true;
}

void Forwarding::AnswerComplete(const StepContext& step, const Asker& asker,
                                const OutputRead& read) {
  OutputRun run;
  run.complete = true;
  run.cursor = read.cursor;
  run.dropped = Puller::DroppedIn(read.cursor);
  Answer(step, asker, kSuccess, Bytes(wire::Encode(run)));
}

int Forwarding::Check(const HostRequest& request, const OutputRead& read,
                      const Source& source) const {
  if (request.uid != source.uid) return kErrNoPermissions;
  const Job* job = jobs_.Find(request.nspace);
  if (job == nullptr || source.over) return kSuccess;
  for (const ProcId& target : request.targets) {
    if (target.rank != kRankWildcard && target.rank >= job->num_ranks()) {
      return kErrNotFound;
    }
  }
  return MayBePulled(job->spec->forwarding, read.channels) ? kSuccess
                                                           : kErrNotSupported;
}

// Returns true if the read is a repetition and its puller has ended. The answer
// may then have been lost with an agent that forwarded it. A repeated first
// read, which has no cursor, is recognised for a limited time only; later it
// may be the first read of another process.
bool Forwarding::HasEnded(TimeNs now, const Source& source,
                          const HostRequest& request, const OutputRead& read) {
  const PullerId id{request.proc, read.handle};
  const auto known = source.ended.find(id);
  if (known == source.ended.end() || source.pullers.contains(id)) return false;
  const Ended& ended = known->second;
  return read.cursor.empty()
             ? request.request == ended.first && now < ended.until
             : request.request <= ended.end;
}

// Returns true if the read is repeated although its process has had the answer.
// A read without a cursor may also come from a new process, which replaces a
// process whose end is unknown to this agent; in this case the agent that
// forwards the read was restarted (`expires` is set).
bool Forwarding::IsLate(const Source& source, const HostRequest& request,
                        const OutputRead& read) {
  const auto known = source.pullers.find({request.proc, read.handle});
  if (known == source.pullers.end()) return false;
  const Entry& entry = known->second;
  if (!read.cursor.empty()) return request.request < entry.last;
  return request.request == entry.first && entry.last != entry.first &&
         entry.expires == kNever;
}

// Ends the puller; a pending read is answered as complete.
void Forwarding::End(const StepContext& step, Source* source,
                     const HostRequest& request, const OutputRead& read) {
  const PullerId id{request.proc, read.handle};
  const auto ended = source->pullers.extract(id);
  if (ended.empty()) return;
  if (source->ended.size() >= kMaxEnded) {
    source->ended.erase(source->ended.begin());
  }
  source->ended[id] = {ended.mapped().first, request.request,
                       step.now + kLinger};
  const std::optional<Asker>& asker = ended.mapped().asker;
  if (!asker || asker->request == request.request) return;
  AnswerComplete(step, *asker, read);
}

Forwarding::Entry* Forwarding::FindOrAdd(TimeNs now, const HostRequest& request,
                                         const OutputRead& read,
                                         Source* source) {
  const PullerId id{request.proc, read.handle};
  const auto known = source->pullers.find(id);
  if (known != source->pullers.end()) {
    Entry& entry = known->second;
    const bool again = read.cursor.empty() && request.request == entry.first;
    if (again || entry.puller.Acknowledge(read.cursor)) {
      entry.last = request.request;
      return &entry;
    }
    source->pullers.erase(known);
  }
  if (source->pullers.size() >= kMaxPullers) return nullptr;
  last_epoch_ = std::max(last_epoch_ + 1, static_cast<uint64_t>(now));
  Puller puller(last_epoch_, source->cache.num_nodes(),
                RanksOf(request.targets), read);
  if (!read.cursor.empty() && puller.Resume(read.cursor)) {
    // Output that only the cache of the previous controller had is lost.
    if (!read.only_cached) source->cache.Refill(&puller);
  } else {
    source->cache.Fill(read.from_now, &puller);
  }
  if (source->over || read.only_cached) puller.Complete();
  source->ended.erase(id);
  Entry entry{std::move(puller), kNoNode,        {}, kNever,
              request.request,   request.request};
  return &source->pullers.emplace(id, std::move(entry)).first->second;
}

void Forwarding::Answer(const StepContext& step, const Asker& asker, int status,
                        Bytes results) {
  HostReply reply{asker.proc, asker.request, asker.nspace, status,
                  std::move(results)};
  if (asker.node == self_) {
    OnReply(step, self_, reply);
  } else {
    step.out.push_back(
        SendPeer{PeerMessage{self_, asker.node, std::move(reply)}});
  }
}

void Forwarding::AnswerNews(const StepContext& step, Entry* entry) {
  const Asker asker = std::move(*entry->asker);
  entry->asker.reset();
  Answer(step, asker, kSuccess, Bytes(wire::Encode(entry->puller.Next())));
}

bool Forwarding::OnOutput(const StepContext& step, const TappedOutput& output) {
  const Job* job = jobs_.Find(output.nspace);
  if (job == nullptr || (job->spec->forwarding.channels & kOutputs) == 0) {
    return false;
  }
  Source* source = SourceOf(output.nspace);
  if (source == nullptr) return false;
  const JobOutput piece{output.node, output.end, output.rank, output.channel,
                        output.data};
  source->cache.Add(piece);
  bool redirected = false;
  for (auto& [id, entry] : source->pullers) {
    entry.puller.Add(piece);
    redirected |= entry.puller.redirects() &&
                  entry.puller.Wants(output.rank, output.channel);
    if (entry.asker && entry.puller.HasNews()) AnswerNews(step, &entry);
  }
  return redirected;
}

void Forwarding::OnInputTaken(const StepContext& step,
                              const std::string& nspace, uint64_t bytes) {
  pushes_.OnTaken(nspace, bytes);
  PassPushed(step);
}

void Forwarding::PassPushed(const StepContext& step) {
  for (const InputPushes::Answer& answer : pushes_.TakeAnswers()) {
    const InputPushes::Pusher& to = answer.pusher;
    if (to.node == kNoNode) continue;
    Answer(step, {to.node, to.proc, to.request, answer.nspace}, answer.status,
           {});
  }
}

void Forwarding::OnJobRecovered(const StepContext& /*step*/,
                                const JobRecovered& in) {
  const std::string& nspace = in.job->nspace;
  const Job* job = jobs_.Find(nspace);
  if (job == nullptr || (job->spec->forwarding.channels & kOutputs) == 0) {
    return;
  }
  Source* const source = SourceOf(nspace);
  if (source != nullptr) source->until = kNever;
}

// Unread output stays for the pullers of the job; the cache serves only pullers
// that arrive while the job runs.
void Forwarding::OnJobRemoved(const StepContext& step, const RemovedJob& job) {
  const std::string& nspace = job.nspace;
  pushes_.OnJobRemoved(nspace);
  PassPushed(step);
  AskAgain(step, nspace);
  const auto it = sources_.find(nspace);
  if (it == sources_.end()) return;
  it->second.over = true;
  if (it->second.until != 0) {
    it->second.until = step.now + kLinger;
    next_expiry_ = std::min(next_expiry_, it->second.until);
  }
  for (auto& [id, entry] : it->second.pullers) {
    entry.puller.Complete();
    Expire(&entry, step.now + kLinger);
    if (entry.asker) AnswerNews(step, &entry);
  }
  DropDone(nspace);
}

// A source is removed when its job is over and its last puller has ended. A
// puller that has read everything stays until it ends, because its last answer
// may be lost or its last read repeated.
void Forwarding::DropDone(const std::string& nspace) {
  const auto it = sources_.find(nspace);
  if (it == sources_.end() || !it->second.over) return;
  if (it->second.pullers.empty() && it->second.until == 0) sources_.erase(it);
}

// --------------------------------------------------------------- changes ---

void Forwarding::OnNodeLost(const StepContext& /*step*/,
                            const NodeStateChanged& in) {
  const NodeId node = in.node;
  pushes_.OnNodeLost(node);
  std::vector<std::string> names;
  for (auto& [nspace, source] : sources_) {
    std::erase_if(source.pullers,
                  [&](const auto& entry) { return entry.second.node == node; });
    names.push_back(nspace);
  }
  for (const std::string& nspace : names) DropDone(nspace);
}

void Forwarding::OnNodeRestarted(const StepContext& step, NodeId node) {
  for (auto& [nspace, source] : sources_) {
    for (auto& [id, entry] : source.pullers) {
      if (entry.node != node) continue;
      entry.asker.reset();
      Expire(&entry, step.now + kLinger);
    }
  }
  OnTreeChanged(step);
}

void Forwarding::OnTreeChanged(const StepContext& step) { AskAgain(step, ""); }

// Sends the pending requests about the job again, or those about all jobs if
// `nspace` is empty. Each request goes to the agent that controls its job now,
// or to the root if this agent has removed the job.
void Forwarding::AskAgain(const StepContext& step, const std::string& nspace) {
  const auto is_meant = [&](const HostRequest& request) {
    return nspace.empty() || request.nspace == nspace;
  };
  std::vector<HostRequest> requests;
  for (auto it = reads_.cbegin(); it != reads_.cend(); ++it) {
    const HostRequest& request = it->second.request;
    if (is_meant(request) && !IsBehindPush(it)) requests.push_back(request);
  }
  for (const auto& [id, end] : ends_) {
    if (is_meant(end)) requests.push_back(end);
  }
  for (const HostRequest& request : requests) Send(step, request);
}

void Forwarding::Expire(Entry* entry, TimeNs when) {
  entry->expires = when;
  next_expiry_ = std::min(next_expiry_, when);
}

void Forwarding::OnTick(const StepContext& step) {
  if (step.now < next_expiry_) return;
  std::vector<std::string> names;
  for (auto& [nspace, source] : sources_) {
    std::erase_if(source.pullers, [&](const auto& entry) {
      return entry.second.expires <= step.now;
    });
    if (source.until <= step.now) source.until = 0;
    names.push_back(nspace);
  }
  for (const std::string& nspace : names) DropDone(nspace);
  next_expiry_ = kNever;
  for (const auto& [nspace, source] : sources_) {
    if (source.until != 0) next_expiry_ = std::min(next_expiry_, source.until);
    for (const auto& [id, entry] : source.pullers) {
      next_expiry_ = std::min(next_expiry_, entry.expires);
    }
  }
}

size_t Forwarding::size() const {
  size_t count = reads_.size() + owned_.size() + ends_.size() + pushes_.size();
  for (const auto& [nspace, source] : sources_) {
    count += source.pullers.size();
  }
  return count;
}

}  // namespace canopy::core
