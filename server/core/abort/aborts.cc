#include "server/core/abort/aborts.h"

#include <algorithm>
#include <utility>

#include "common/status.h"
#include "server/core/step/share.h"

namespace canopy::core {
namespace {

// Maximum number of pending calls at one agent, and of targets that one
// controller waits for. A job may have its share of either (HasShare). If there
// are too many calls, the oldest one is dropped, unless it needs a reply.
constexpr size_t kMaxCalls = 1024;
constexpr size_t kMaxWaiting = 4096;

// Returns true if the targets are in several jobs. No honest agent sends such a
// message, and the check of one job's user must not end another job.
bool NamesSeveralJobs(const AbortMessage& message) {
  return std::ranges::any_of(message.targets, [&](const ProcId& target) {
    return target.nspace != message.targets.front().nspace;
  });
}

const std::string& NspaceOf(const AbortMessage& message) {
  return message.targets.empty() ? message.source.nspace
                                 : message.targets.front().nspace;
}

bool IsEveryone(const AbortMessage& message) {
  return message.targets.empty() ||
         std::ranges::count(message.targets, kRankWildcard, &ProcId::rank) > 0;
}

bool Names(const AbortMessage& message, const ProcId& proc) {
  if (NspaceOf(message) != proc.nspace) return false;
  return IsEveryone(message) ||
         std::ranges::count(message.targets, proc.rank, &ProcId::rank) > 0;
}

std::map<std::string, AbortMessage> ByJob(const AbortMessage& all) {
  std::map<std::string, AbortMessage> out;
  if (all.targets.empty()) out.emplace(all.source.nspace, all);
  for (const ProcId& target : all.targets) {
    const auto [it, added] = out.try_emplace(target.nspace, all);
    if (added) it->second.targets.clear();
    it->second.targets.push_back(target);
  }
  return out;
}

std::set<Rank> Unended(const Job& job, const AbortMessage& message) {
  std::set<Rank> named;
  for (const ProcId& target : message.targets) named.insert(target.rank);
  const bool everyone = IsEveryone(message);
  std::set<Rank> out;
  for (Rank rank = 0; rank < job.num_ranks(); ++rank) {
    if (job.ranks[rank].ended) continue;
    if (everyone || named.contains(rank)) out.insert(out.end(), rank);
  }
  return out;
}

bool AreThere(const Job& job, const std::vector<ProcId>& targets) {
  return std::ranges::all_of(targets, [&](const ProcId& target) {
    return target.rank == kRankWildcard || target.rank < job.num_ranks();
  });
}

Waiting DescribeMessage(TimeNs now, TimeNs since, const AbortMessage& message) {
  Waiting waiting;
  waiting.nspace = message.source.nspace;
  waiting.operation = "abort of processes of " + NspaceOf(message);
  waiting.age_ms = static_cast<uint64_t>(now - since) / 1'000'000;
  return waiting;
}

}  // namespace

Aborts::Aborts(NodeId self, const JobTable& jobs, JobEngine& engine)
    : self_(self), jobs_(jobs), engine_(engine) {}

// ------------------------------------------------------ the caller's agent ---

int Aborts::Check(const ProcId& source, std::vector<ProcId>* targets) const {
  const Job* from = jobs_.Find(source.nspace);
  if (from == nullptr) return kErrNoPermissions;
  for (ProcId& target : *targets) {
    if (target.nspace.empty()) target.nspace = source.nspace;
    const Job* to = jobs_.Find(target.nspace);
    if (to == nullptr) continue;
    if (from->spec->uid != to->spec->uid) return kErrParamValueNotSupported;
    if (!AreThere(*to, {target})) return kErrBadParam;
  }
  return kSuccess;
}

// Returns a number greater than the numbers of a predecessor's calls, whose
// answers may still arrive.
uint64_t Aborts::NewNumber(TimeNs now) {
  last_call_ = std::max(last_call_ + 1, static_cast<uint64_t>(now));
  return last_call_;
}

bool Aborts::HasRoomFor(const std::string& nspace) const {
  const auto own = std::ranges::count_if(waiting_, [&](const auto& one) {
    return one.second.message.source.nspace == nspace;
  });
  return HasShare(kMaxWaiting, waiting_.size(), static_cast<size_t>(own));
}

// The new call is already in the table, so it is subtracted from both counts.
bool Aborts::MayCall(const std::string& nspace) const {
  const auto own = std::ranges::count_if(calls_, [&](const auto& call) {
    return call.second.source.nspace == nspace;
  });
  return HasShare(kMaxCalls, calls_.size() - 1, static_cast<size_t>(own) - 1);
}

int Aborts::OnArrived(const StepContext& step, const ProcId& source,
                      const AbortArrived& in) {
  AbortMessage message{source, in.status, in.text, in.targets};
  const int refusal = Check(source, &message.targets);
  if (refusal != kSuccess) return refusal;
  message.uid = jobs_.Find(source.nspace)->spec->uid;
  message.has_uid = true;
  const uint64_t number = NewNumber(step.now);
  Call& call = calls_[number];
  call.client = in.client;
  call.source = source;
  call.since = step.now;
  call.open = ByJob(message);
  AskForAnswers(in, number, &call);
  if (call.request != 0 && !MayCall(source.nspace)) {
    calls_.erase(number);
    return kErrOutOfResource;
  }
  SendAll(step, number);
  DropOldest();
  return kSuccess;
}

// A caller that is a target of its own abort gets no reply, because it ends.
void Aborts::AskForAnswers(const AbortArrived& in, uint64_t number,
                           Call* call) const {
  for (const auto& [nspace, message] : call->open) {
    if (Names(message, call->source)) return;
  }
  call->request = in.request;
  for (auto& [nspace, message] : call->open) {
    message.request = number;
    message.origin = self_;
  }
}

void Aborts::DropOldest() {
  if (calls_.size() <= kMaxCalls) return;
  const auto oldest = calls_.begin();
  if (oldest->second.request == 0) calls_.erase(oldest);
}

// SendAll copies the messages, because an answer may come at once and end the
// call.
void Aborts::SendAll(const StepContext& step, uint64_t number) {
  const auto call = calls_.find(number);
  if (call == calls_.end()) return;
  const std::map<std::string, AbortMessage> open = call->second.open;
  for (const auto& [nspace, message] : open) Send(step, message);
}

void Aborts::Send(const StepContext& step, const AbortMessage& message) {
  const NodeId to = engine_.ControllerOf(NspaceOf(message));
  if (to == self_) return OnMessage(step, message);
  step.out.push_back(SendPeer{PeerMessage{self_, to, message}});
}

// If the job is unknown to this agent, a reply of any agent is accepted,
// because the root may have forwarded the message.
void Aborts::OnReply(const StepContext& step, NodeId src,
                     const AbortReply& reply) {
  const bool known = jobs_.Find(reply.nspace) != nullptr;
  if (known && src != engine_.ControllerOf(reply.nspace)) return;
  const auto it = calls_.find(reply.request);
  if (it == calls_.end() || it->second.source != reply.source) return;
  Call& call = it->second;
  if (call.open.erase(reply.nspace) == 0) return;
  // After a repetition, "not found" means that the job has ended together with
  // the agent that controlled it.
  const bool gone = reply.status == kErrNotFound && call.repeated;
  if (call.status == kSuccess && !gone) call.status = reply.status;
  if (!call.open.empty()) return;
  if (call.request != 0) {
    step.out.push_back(ReplyClient{call.client, call.request, call.status, {}});
  }
  calls_.erase(it);
}

void Aborts::OnClientGone(const StepContext& /*step*/, ClientId client) {
  for (auto& [number, call] : calls_) {
    if (call.client == client) call.request = 0;
  }
}

void Aborts::OnTreeChanged(const StepContext& step) {
  std::vector<uint64_t> numbers;
  for (auto& [number, call] : calls_) {
    call.repeated = true;
    numbers.push_back(number);
  }
  for (const uint64_t number : numbers) SendAll(step, number);
}

// ---------------------------------------------------------- the controller ---

void Aborts::OnMessage(const StepContext& step, const AbortMessage& message) {
  const std::optional<int> status =
      NamesSeveralJobs(message) ? kErrBadParam : Execute(step, message);
  if (status) Answer(step, message, *status);
}

// Returns whether the source may end processes of the job. This is checked
// again here, because the caller's agent may not know the job, or may not be
// honest: a user that it claims must be that of the source's job, if the job is
// known here. A message without a user is of an older agent.
bool Aborts::MayEnd(const AbortMessage& message, const Job& job) const {
  std::optional<uint32_t> user;
  if (message.request != 0 || message.has_uid) user = message.uid;
  if (const Job* source = jobs_.Find(message.source.nspace)) {
    if (source->spec->uid != user.value_or(source->spec->uid)) return false;
    user = source->spec->uid;
  }
  return user == job.spec->uid;
}

std::optional<int> Aborts::Execute(const StepContext& step,
                                   const AbortMessage& message) {
  const std::string& nspace = NspaceOf(message);
  const Job* job = jobs_.Find(nspace);
  if (job == nullptr) {
    return jobs_.WasRemoved(nspace) ? kSuccess : kErrNotFound;
  }
  const NodeId controller = engine_.ControllerOf(nspace);
  if (controller != self_) {
    step.out.push_back(SendPeer{PeerMessage{self_, controller, message}});
    return std::nullopt;
  }
  const bool answered = message.request != 0;
  if (!MayEnd(message, *job)) return kErrParamValueNotSupported;
  if (answered && !AreThere(*job, message.targets)) return kErrBadParam;
  if (answered && !HasRoomFor(message.source.nspace)) return kErrOutOfResource;
  engine_.OnAbort(step, message);
  return answered ? Await(step.now, message) : kSuccess;
}

std::optional<int> Aborts::Await(TimeNs now, const AbortMessage& message) {
  const std::string& nspace = NspaceOf(message);
  const Job* job = jobs_.Find(nspace);
  if (job == nullptr) return kSuccess;
  std::set<Rank> ranks = Unended(*job, message);
  if (ranks.empty()) return kSuccess;
  const auto [begin, end] = waiting_.equal_range(nspace);
  const bool known = std::any_of(begin, end, [&](const auto& other) {
    return other.second.message.origin == message.origin &&
           other.second.message.request == message.request;
  });
  if (!known) waiting_.emplace(nspace, Targets{message, now, std::move(ranks)});
  return std::nullopt;
}

void Aborts::Answer(const StepContext& step, const AbortMessage& message,
                    int status) {
  if (message.request == 0) return;
  AbortReply reply{message.source, message.request, NspaceOf(message), status};
  if (message.origin == self_) return OnReply(step, self_, reply);
  step.out.push_back(
      SendPeer{PeerMessage{self_, message.origin, std::move(reply)}});
}

void Aborts::OnRankGone(const StepContext& step, const ProcId& proc) {
  const Job* job = jobs_.Find(proc.nspace);
  if (job == nullptr || !job->ranks[proc.rank].ended) return;
  auto [it, end] = waiting_.equal_range(proc.nspace);
  while (it != end) {
    it->second.ranks.erase(proc.rank);
    if (!it->second.ranks.empty()) {
      ++it;
      continue;
    }
    Answer(step, it->second.message, kSuccess);
    it = waiting_.erase(it);
  }
}

void Aborts::OnJobRemoved(const StepContext& step, const RemovedJob& job) {
  const std::string& nspace = job.nspace;
  const auto [begin, end] = waiting_.equal_range(nspace);
  for (auto it = begin; it != end; ++it) {
    Answer(step, it->second.message, kSuccess);
  }
  waiting_.erase(nspace);
  std::erase_if(calls_, [&](const auto& call) {
    return call.second.source.nspace == nspace;
  });
}

// ------------------------------------------------------------------ both ---

void Aborts::OnTick(const StepContext& step) {
  for (auto& [number, call] : calls_) {
    if (call.request == 0 || call.since + kAbortTimeout > step.now) continue;
    step.out.push_back(ReplyClient{
        call.client, std::exchange(call.request, 0), kErrTimeout, {}});
  }
}

TimeNs Aborts::NextDeadline() const {
  TimeNs next = kNever;
  for (const auto& [number, call] : calls_) {
    if (call.request != 0) next = std::min(next, call.since + kAbortTimeout);
  }
  return next;
}

void Aborts::Describe(TimeNs now, const std::string& nspace,
                      std::vector<Waiting>* out) const {
  const auto wanted = [&](const ProcId& source) {
    return nspace.empty() || source.nspace == nspace;
  };
  for (const auto& [number, call] : calls_) {
    if (call.request == 0 || !wanted(call.source)) continue;
    for (const auto& [job, message] : call.open) {
      out->push_back(DescribeMessage(now, call.since, message));
      out->back().callers = 1;
    }
  }
  for (const auto& [job, targets] : waiting_) {
    if (!wanted(targets.message.source)) continue;
    out->push_back(DescribeTargets(now, targets));
  }
}

Waiting Aborts::DescribeTargets(TimeNs now, const Targets& targets) const {
  Waiting waiting = DescribeMessage(now, targets.since, targets.message);
  const std::string& nspace = NspaceOf(targets.message);
  const Job* job = jobs_.Find(nspace);
  for (const Rank rank : targets.ranks) {
    if (waiting.missing.size() == kMaxMissing) break;
    waiting.missing.push_back({{nspace, rank}, job->agent_of(rank), true});
  }
  waiting.more_missing = targets.ranks.size() - waiting.missing.size();
  return waiting;
}

}  // namespace canopy::core
