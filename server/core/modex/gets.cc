#include "server/core/modex/gets.h"

#include <algorithm>
#include <utility>

#include "common/codec/stored_key.h"
#include "common/process_keys.h"
#include "common/status.h"
#include "common/time_units.h"
#include "server/core/modex/kval.h"
#include "server/core/modex/process_facts.h"
#include "server/core/step/share.h"

namespace canopy::core {
namespace {

TimeNs DeadlineOf(TimeNs now, uint32_t timeout_ms) {
  return timeout_ms == 0 ? kNever : now + timeout_ms * kNsPerMs;
}

}  // namespace

Gets::Gets(NodeId self, const Tree& tree, JobTable& jobs, ModexStore& modex)
    : self_(self), tree_(tree), jobs_(jobs), modex_(modex) {}

// --------------------------------------------------------------- holding ---

void Gets::OnGet(const StepContext& step, const GetArrived& in) {
  const ProcId* proc = jobs_.ProcOf(in.client);
  if (proc == nullptr) {
    step.out.push_back(ReplyClient{in.client, in.request, kErrInit, {}});
    return;
  }
  Held held;
  held.target = in.target;
  if (held.target.nspace.empty()) held.target.nspace = proc->nspace;
  held.key = in.key;
  held.job = proc->nspace;
  held.reader = proc->nspace;
  held.uid = jobs_.UserSeenBy(*proc);
  held.client = in.client;
  held.request = in.request;
  held.immediate = in.immediate;
  // Process facts are never stored, so each get of such a key is sent to the
  // process's agent anyway.
  held.refresh = in.refresh && !IsProcessFact(in.key);
  held.started = step.now;
  held.since = step.now;
  held.deadline = DeadlineOf(step.now, in.timeout_ms);
  Take(step, std::move(held));
}

void Gets::OnRequest(const StepContext& step, NodeId src,
                     const DmodexRequest& request) {
  Held held;
  held.target = request.target;
  held.key = request.key;
  held.job = request.target.nspace;
  held.node = src;
  held.request = request.request;
  held.known = request.known;
  held.reader = request.reader;
  if (request.has_uid) held.uid = request.uid;
  held.immediate = request.key.empty();
  held.started = step.now;
  held.since = step.now;
  held.deadline = DeadlineOf(step.now, request.timeout_ms);
  Take(step, std::move(held));
}

void Gets::Take(const StepContext& step, Held held) {
  if (const std::optional<int> status = Decide(held)) {
    return Answer(step, held, *status);
  }
  if (!HasShare(kMaxHeldGets, held_.size(), held_.NumOfJob(held.job))) {
    return Answer(step, held, kErrResourceBusy);
  }
  if (held.node == kNoNode &&
      held_.NumOfClient(held.client) >= kMaxHeldGetsOfClient) {
    return Answer(step, held, kErrOutOfResource);
  }
  if (jobs_.Find(held.target.nspace) == nullptr) {
    Post(MapWanted{held.target.nspace});
  }
  StartFetch(step, held_.Add(std::move(held)));
}

void Gets::Answer(const StepContext& step, const Held& held, int status) {
  if (held.node != kNoNode) {
    DmodexReply reply{held.request, status, held.target, {}, 0};
    if (IsProcessFact(held.key)) {
      if (status == kSuccess) reply.data = PayloadFor(held);
    } else if (status == kSuccess || status == kErrExistsOutsideScope) {
      RankUpdate update = modex_.UpdateSince(held.target, held.known);
      reply.data = std::move(update.kvals);
      reply.version = update.version;
      reply.base = update.base;
    }
    step.out.push_back(
        SendPeer{PeerMessage{self_, held.node, std::move(reply)}});
    return;
  }
  ReplyClient reply{held.client, held.request, status, {}};
  if (status == kSuccess) {
    if (IsForeign(held)) jobs_.Register(held.target.nspace, &step.out);
    reply.payload = PayloadFor(held);
  }
  step.out.push_back(std::move(reply));
}

Bytes Gets::PayloadFor(const Held& held) const {
  ProcId owner = held.target;
  if (IsProcessFact(held.key) && owner.rank <= kRankValid) {
    const Job* job = jobs_.Find(owner.nspace);
    return job == nullptr ? Bytes() : FactOf(*job, owner.rank, held.key);
  }
  if (owner.rank == kRankUndef) {
    owner.rank = modex_.OwnerOf(owner.nspace, held.key).value_or(kRankUndef);
  }
  return modex_.SeenHere(owner);
}

void Gets::Finish(const StepContext& step, uint64_t id, int status) {
  const Held* found = held_.Find(id);
  if (found == nullptr) return;
  const Held held = *found;
  held_.Drop(id);
  Answer(step, held, status);
}

void Gets::Retry(const StepContext& step, const std::vector<uint64_t>& ids) {
  for (const uint64_t id : ids) {
    const Held* held = held_.Find(id);
    if (held == nullptr) continue;
    const std::optional<int> status = Decide(*held);
    if (status) Finish(step, id, *status);
  }
}

void Gets::RetryKeys(const StepContext& step, const ProcId& target,
                     const DataChange& change) {
  if (!held_.HasTarget(target)) return;
  Retry(step, held_.Of(target, ""));
  std::string_view rest = change.visible.view();
  KvalPiece piece;
  while (TakeKval(&rest, &piece)) {
    Retry(step, held_.Of(target, piece.key));
    if (IsQualifiedName(piece.key)) RetryQualified(step, target, piece.key);
  }
  if (target.rank == kRankUndef) return;
  for (const std::string& key : change.outside) {
    Retry(step, held_.Of(target, key));
  }
}

// Retries the gets that name only some of the qualifiers of the new value.
void Gets::RetryQualified(const StepContext& step, const ProcId& target,
                          std::string_view stored) {
  std::vector<uint64_t> ids = held_.OfTarget(target);
  std::erase_if(ids, [&](uint64_t id) {
    return !Satisfies(stored, held_.Find(id)->key);
  });
  Retry(step, ids);
}

// -------------------------------------------------------------- fetching ---

void Gets::StartFetch(const StepContext& step, uint64_t id) {
  const Held& held = *held_.Find(id);
  const Job* job = jobs_.Find(held.target.nspace);
  if (job == nullptr) return;
  AwaitCommit(step, *job, held.target.rank);
  if (held.node != kNoNode || held.target.rank >= job->num_ranks() ||
      job->is_local(held.target.rank)) {
    return;
  }
  Fetch fetch{held.target, held.key, held.reader, held.uid,
              job->agent_of(held.target.rank)};
  if (held.refresh) {
    // An answer that is already under way may be too old for a refresh.
    fetch.key.clear();
    fetch.held = id;
  } else if (fetch_of_.contains(KeyOf(fetch))) {
    return;
  }
  const uint64_t number = next_fetch_++;
  if (!held.refresh) fetch_of_[KeyOf(fetch)] = number;
  Ask(step, number, fetch);
  fetches_.emplace(number, std::move(fetch));
}

void Gets::AwaitCommit(const StepContext& step, const Job& job,
                       Rank rank) const {
  if (job.is_local(rank) ||
      (rank == kRankUndef && !job.local_ranks().empty())) {
    step.out.push_back(core::AwaitCommit{{job.nspace(), rank}});
  }
}

void Gets::Ask(const StepContext& step, uint64_t number, const Fetch& fetch) {
  DmodexRequest request{number,
                        fetch.target,
                        fetch.key,
                        TimeLeft(step.now, fetch),
                        modex_.KnownVersion(fetch.target),
                        fetch.reader,
                        fetch.uid.value_or(0),
                        fetch.uid.has_value()};
  step.out.push_back(
      SendPeer{PeerMessage{self_, fetch.node, std::move(request)}});
}

std::vector<uint64_t> Gets::IdsOf(const Fetch& fetch) const {
  if (fetch.held != 0) return {fetch.held};
  std::vector<uint64_t> ids = held_.Of(fetch.target, fetch.key);
  std::erase_if(ids, [&](uint64_t id) {
    const Held& held = held_.all().at(id);
    return held.node != kNoNode || held.refresh || held.reader != fetch.reader;
  });
  return ids;
}

// Returns the milliseconds until the last waiting get expires; 0 if one of the
// gets has no deadline.
uint32_t Gets::TimeLeft(TimeNs now, const Fetch& fetch) const {
  TimeNs last = now;
  for (const uint64_t id : IdsOf(fetch)) {
    const auto it = held_.all().find(id);
    if (it == held_.all().end()) continue;
    if (it->second.deadline == kNever) return 0;
    last = std::max(last, it->second.deadline);
  }
  return static_cast<uint32_t>((last - now) / kNsPerMs) + 1;
}

void Gets::StoreReply(const StepContext& step, const Fetch& fetch,
                      const DmodexReply& reply) {
  const Job* const job = jobs_.Find(fetch.target.nspace);
  if (job == nullptr) return;
  const bool changed =
      modex_.StoreRemote({fetch.target, reply.base, reply.version, reply.data});
  const bool hidden =
      reply.status == kErrExistsOutsideScope && !fetch.key.empty();
  if (!changed && !hidden) return;
  if (hidden) modex_.NoteOutside(fetch.target, fetch.key);
  // TakeChange does not contain hidden keys, and data of a job without ranks
  // here may not have been published yet. In both cases all data of the target
  // is published.
  const bool all = hidden || job->local_ranks().empty();
  jobs_.Register(fetch.target.nspace, &step.out);
  step.out.push_back(all ? modex_.Publication(fetch.target)
                         : modex_.TakeChange(fetch.target));
}

void Gets::PassOn(const StepContext& step, const std::vector<uint64_t>& ids,
                  const DmodexReply& reply) {
  for (const uint64_t id : ids) {
    const Held* found = held_.Find(id);
    if (found == nullptr) continue;
    const Held held = *found;
    held_.Drop(id);
    int status = reply.status;
    const std::string_view kvals = reply.data.view();
    if (status == kSuccess && (!AreKvals(kvals) || !HasKey(kvals, held.key))) {
      status = kErrNotFound;
    }
    ReplyClient answer{held.client, held.request, status, {}};
    if (status == kSuccess) {
      if (IsForeign(held)) jobs_.Register(held.target.nspace, &step.out);
      answer.payload = reply.data;
    }
    step.out.push_back(std::move(answer));
  }
}

void Gets::OnReply(const StepContext& step, NodeId src,
                   const DmodexReply& reply) {
  const auto it = fetches_.find(reply.request);
  if (it == fetches_.end() || it->second.node != src) return;
  const Fetch fetch = std::move(it->second);
  fetches_.erase(it);
  if (fetch.held == 0) fetch_of_.erase(KeyOf(fetch));
  const std::vector<uint64_t> ids = IdsOf(fetch);
  if (reply.status == kErrTimeout) {
    // A get with a later deadline may have been added since the request was
    // sent.
    for (const uint64_t id : ids) {
      const Held* held = held_.Find(id);
      if (held == nullptr) continue;
      if (held->deadline > step.now || PutOff(step.now, id))
        StartFetch(step, id);
    }
    return;
  }
  if (IsProcessFact(fetch.key)) return PassOn(step, ids, reply);
  if (reply.status == kSuccess || reply.status == kErrExistsOutsideScope) {
    StoreReply(step, fetch, reply);
  } else if (reply.status != kErrNotFound) {
    for (const uint64_t id : ids) Finish(step, id, reply.status);
    return;
  }
  for (const uint64_t id : ids) {
    Held* held = held_.Find(id);
    if (held != nullptr) held->fetched = true;
  }
  // Gets of other keys in this data are retried by OnData.
  Retry(step, ids);
}

// ------------------------------------------------------------------ news ---

void Gets::OnData(const StepContext& step, const DataChange& change) {
  const ProcId& proc = change.proc;
  const ProcId any{proc.nspace, kRankUndef};
  RetryKeys(step, proc, change);
  RetryKeys(step, any, change);
  // Gets that still wait need the next commit.
  const Job* job = jobs_.Find(proc.nspace);
  if (job == nullptr) return;
  if (held_.HasTarget(proc) || held_.HasTarget(any)) {
    AwaitCommit(step, *job, proc.rank);
  }
}

void Gets::OnClientGone(const StepContext& /*step*/, ClientId client) {
  for (const uint64_t id : held_.OfClient(client)) held_.Drop(id);
}

void Gets::OnJobAdded(const StepContext& step, const std::string& nspace) {
  const std::vector<uint64_t> ids = held_.OfJob(nspace);
  Retry(step, ids);
  for (const uint64_t id : ids) {
    if (held_.Find(id) != nullptr) StartFetch(step, id);
  }
}

void Gets::OnJobUnknown(const StepContext& step, const std::string& nspace) {
  for (const uint64_t id : held_.OfJob(nspace)) Finish(step, id, kErrNotFound);
}

void Gets::OnJobRemoved(const StepContext& step, const RemovedJob& job) {
  const std::string& nspace = job.nspace;
  for (const uint64_t id : held_.OfJob(nspace)) {
    const bool of_client = held_.Find(id)->node == kNoNode;
    Finish(step, id, of_client ? kErrJobTerminated : kErrNotFound);
  }
  for (const ClientId client : held_.Clients()) {
    if (jobs_.ProcOf(client) == nullptr) OnClientGone(step, client);
  }
  std::erase_if(fetch_of_, [&](const auto& item) {
    return std::get<ProcId>(item.first).nspace == nspace;
  });
  std::erase_if(fetches_, [&](const auto& item) {
    return item.second.target.nspace == nspace;
  });
}

void Gets::OnProcess(const StepContext& step, const ProcId& proc) {
  Retry(step, held_.OfTarget(proc));
}

void Gets::OnRankGone(const StepContext& step, const ProcId& proc) {
  Retry(step, held_.OfTarget(proc));
}

void Gets::OnNodeLost(const StepContext& step, const NodeStateChanged& in) {
  const NodeId node = in.node;
  std::erase_if(fetch_of_, [&](const auto& item) {
    return fetches_.at(item.second).node == node;
  });
  std::erase_if(fetches_,
                [&](const auto& item) { return item.second.node == node; });
  std::vector<uint64_t> ids;
  std::vector<uint64_t> dropped;
  for (const auto& [id, held] : held_.all()) {
    (held.node == node ? dropped : ids).push_back(id);
  }
  for (const uint64_t id : dropped) held_.Drop(id);
  Retry(step, ids);
  // Requests and answers that were in flight through the lost node are lost. A
  // second answer with the same number is harmless.
  for (const auto& [number, fetch] : fetches_) Ask(step, number, fetch);
}

void Gets::OnNodeRestarted(const StepContext& step, NodeId node) {
  std::vector<uint64_t> dropped;
  for (const auto& [id, held] : held_.all()) {
    if (held.node == node) dropped.push_back(id);
  }
  for (const uint64_t id : dropped) held_.Drop(id);
  // Pending requests are sent again. A second answer with the same number is
  // harmless.
  for (const auto& [number, fetch] : fetches_) Ask(step, number, fetch);
}

void Gets::OnTick(const StepContext& step) {
  while (const uint64_t id = held_.FirstExpired(step.now)) {
    if (!PutOff(step.now, id)) Finish(step, id, kErrTimeout);
  }
}

// The timeout does not run while a debugger holds the caller's or the target's
// job.
bool Gets::PutOff(TimeNs now, uint64_t id) {
  if (jobs_.holds().empty()) return false;
  const Held& held = *held_.Find(id);
  std::vector<std::string> nspaces = {held.target.nspace};
  const ProcId* caller =
      held.node == kNoNode ? jobs_.ProcOf(held.client) : nullptr;
  if (caller != nullptr) nspaces.push_back(caller->nspace);
  const TimeNs due =
      jobs_.holds().DueAt(now, held.since, held.deadline, nspaces);
  if (due > now) held_.PutOff(id, now, due);
  return due > now;
}

void Gets::Count(ResourceCounts* counts) const {
  counts->gets = num_held();
  counts->fetches = num_fetches();
}

TimeNs Gets::NextDeadline() const { return held_.NextDeadline(); }

void Gets::Describe(TimeNs now, const std::string& nspace,
                    std::vector<Waiting>* out) const {
  for (const auto& [id, held] : held_.all()) {
    if (!nspace.empty() && held.target.nspace != nspace) continue;
    Waiting waiting;
    waiting.nspace = held.target.nspace;
    waiting.operation =
        "get of key '" + held.key + "' of " + ToString(held.target);
    waiting.age_ms = static_cast<uint64_t>(now - held.started) / kNsPerMs;
    const Job* job = jobs_.Find(held.target.nspace);
    if (job != nullptr && held.target.rank < job->num_ranks()) {
      const NodeId node = job->agent_of(held.target.rank);
      waiting.missing.push_back({held.target, node, node == self_});
    }
    waiting.callers = held.node == kNoNode ? 1 : 0;
    out->push_back(std::move(waiting));
  }
}

}  // namespace canopy::core
