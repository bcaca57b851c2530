#include "server/core/collective/collective_progress.h"

#include <algorithm>
#include <utility>

#include "common/status.h"
#include "server/core/collective/collective_messages.h"
#include "server/core/collective/collective_records.h"
#include "server/core/collective/collective_text.h"
#include "server/core/collective/group_result.h"

namespace canopy::core {
namespace {

// Adds contributions. The first one received for a node counts; duplicates are
// equal to it.
void AddContributions(const Series& series, NodeId src,
                      const std::vector<NodeContribution>& contributions,
                      const Operation& operation, Instance* instance) {
  for (const NodeContribution& c : contributions) {
    if (!series.members->HasNode(c.node)) continue;
    const bool added =
        instance->contributions.try_emplace(c.node, Contribution{c.data, src})
            .second;
    if (added) operation.OnContribution(c.data, instance);
  }
}

// Returns whether a local participant that is needed has not arrived.
bool AwaitsLocals(const Series& series, const Instance& instance,
                  const JobTable& jobs) {
  if (instance.num_arrived == instance.arrived.size()) return false;
  if (!instance.group.tolerant()) return true;
  for (size_t i = 0; i < instance.arrived.size(); ++i) {
    if (instance.arrived[i]) continue;
    const ProcId& proc = series.members->local[i];
    const Job* job = jobs.Find(proc.nspace);
    if (job != nullptr && !job->ranks[proc.rank].gone()) return true;
  }
  return false;
}

// Returns whether this agent waits for a contribution of the node.
bool Awaits(const Series& series, const Instance& instance, NodeId node) {
  if (instance.contributions.contains(node)) return false;
  const auto& nodes =
      series.place.top ? series.members->nodes : series.place.below;
  return std::ranges::binary_search(nodes, node);
}

}  // namespace

// ------------------------------------------------------------- messages ---

Instance& CollectiveProgress::FindOrBegin(TimeNs now, Series& series,
                                          uint64_t sequence) {
  const bool is_new = !series.active.contains(sequence);
  Instance& instance = series.FindOrAddInstance(now, sequence);
  if (is_new) OperationOf(series).OnBegin(series, sequence, &instance);
  return instance;
}

void CollectiveProgress::ApplyUp(const StepContext& step, Series& series,
                                 NodeId src, const CollectiveUp& up) {
  const uint64_t sequence = up.id.sequence;
  if (series.IsOver(sequence)) return AnswerLate(step, series, src, up);
  const bool is_new = !series.active.contains(sequence);
  Instance& instance = FindOrBegin(step.now, series, sequence);
  const Operation& operation = OperationOf(series);
  AddContributions(series, src, up.contributions, operation, &instance);
  instance.contributors.insert(src);
  if (!up.result.empty()) instance.result = up.result;
  if (up.status != kSuccess && up.status != kAlreadyReleased) {
    // If the top decides, `src` only requests the failure and waits for the
    // decision; otherwise, the collective has failed there already.
    const NodeId knows = operation.may_end_differently() ? src : kNoNode;
    return FailOrAsk(step, series, sequence, up.status, up.missing, knows);
  }
  if (SharesTooMuch(instance)) {
    return FailOrAsk(step, series, sequence, kErrOutOfResource, {}, kNoNode);
  }
  if (is_new && EndIfGone(step, series, sequence)) return;
  Advance(step, series, sequence);
}

// Handles a contribution to a collective that has completed at this agent.
// Unless this agent has already notified the sender, the sender has lost its
// parent since, and needs the result. A sender that reports the failure of a
// fence knows the outcome, because the fence has failed there.
void CollectiveProgress::AnswerLate(const StepContext& step, Series& series,
                                    NodeId src, const CollectiveUp& up) {
  const bool knows =
      up.status == kAlreadyReleased ||
      (up.status != kSuccess && OperationOf(series).may_end_differently());
  if (knows) return;
  const auto it = series.completed.find(up.id.sequence);
  if (it == series.completed.end()) {
    return AnswerRecovered(step, series, up.id.sequence, src);
  }
  if (!it->second.notified.insert(src).second) return;
  SendDown(step, series, up.id.sequence, it->second, src);
}

// Sends the result of a collective that the predecessor completed to a node
// that lacks it.
void CollectiveProgress::AnswerRecovered(const StepContext& step,
                                         Series& series, uint64_t sequence,
                                         NodeId to) {
  if (sequence >= series.recovered) return;
  CollectiveDown down{series.id, kSuccess, {}, {}};
  down.id.sequence = sequence;
  OperationOf(series).FillRecovered(series, sequence, &down);
  SendTo(step, p_.self, to, std::move(down));
}

void CollectiveProgress::ApplyDown(const StepContext& step, Series& series,
                                   NodeId src, const CollectiveDown& down) {
  const uint64_t sequence = down.id.sequence;
  if (series.IsOver(sequence)) return;
  Instance& instance = FindOrBegin(step.now, series, sequence);
  AddContributions(series, src, down.contributions, OperationOf(series),
                   &instance);
  instance.result = down.result;
  Release(step, series, sequence, down.status, down.missing, src);
}

void CollectiveProgress::SendDown(const StepContext& step, const Series& series,
                                  uint64_t sequence,
                                  const CompletedCollective& completed,
                                  NodeId to) {
  CollectiveDown down{series.id, completed.status, {}, completed.missing};
  down.id.sequence = sequence;
  if (completed.status == kSuccess) {
    OperationOf(series).FillRelease(completed, to, &down);
  }
  SendTo(step, p_.self, to, std::move(down));
}

// ------------------------------------------------------------- progress ---

void CollectiveProgress::AddOwnContribution(const Series& series,
                                            uint64_t sequence,
                                            Instance& instance) {
  // Contributions are made in order, so each implies that the previous
  // collective was released at this agent.
  if (sequence != series.next || instance.arrived.empty() ||
      AwaitsLocals(series, instance, p_.jobs) ||
      instance.contributions.contains(p_.self)) {
    return;
  }
  Bytes own = OperationOf(series).OwnContribution(series, &instance);
  instance.contributions.emplace(p_.self,
                                 Contribution{std::move(own), p_.self});
}

bool CollectiveProgress::IsOverFor(const Series& series, NodeId node) const {
  if (series.suspects.empty() || node == p_.self) return false;
  return !p_.tree.alive(node) ||
         !HasLivingOn(series.id.participants, p_.jobs, node);
}

// This function is called at every end of a process in a tolerant group, so the
// search begins at the node that was missing at the last call.
bool CollectiveProgress::IsComplete(const Series& series,
                                    Instance* instance) const {
  const auto& needed =
      series.place.top ? series.members->nodes : series.place.below;
  for (size_t i = 0; i < needed.size(); ++i) {
    const size_t at = (instance->first_awaited + i) % needed.size();
    if (instance->contributions.contains(needed[at]) ||
        (instance->group.tolerant() && IsOverFor(series, needed[at]))) {
      continue;
    }
    instance->first_awaited = at;
    return false;
  }
  return true;
}

void CollectiveProgress::Advance(const StepContext& step, Series& series,
                                 uint64_t sequence) {
  const auto it = series.active.find(sequence);
  if (it == series.active.end() || !series.members) return;
  Instance& instance = it->second;
  AddOwnContribution(series, sequence, instance);
  series.UpdatePlace(p_.jobs, p_.tree, p_.self);
  if (!series.place.member || !IsComplete(series, &instance)) return;
  if (series.place.top) {
    if (instance.result.empty()) {
      OperationOf(series).MakeResult(step.now, series, &instance);
    }
    return Release(step, series, sequence, kSuccess, {}, kNoNode);
  }
  if (instance.sent_to == series.place.parent) return;
  instance.sent_to = series.place.parent;
  instance.sent = true;
  SendTo(step, p_.self, series.place.parent,
         ContributionsUp(series, sequence, kSuccess, instance.contributions));
  if (instance.asked == kSuccess) return;
  SendTo(step, p_.self, series.place.parent,
         FailureUp(series, sequence, instance.asked, instance.asked_missing));
}

// ------------------------------------------------------------------ ends ---

// Neighbours below are notified first, so that the deepest nodes do not wait
// for local work elsewhere. Local clients are last, so that they find the data
// when their call returns.
void CollectiveProgress::Release(const StepContext& step, Series& series,
                                 uint64_t sequence, int status,
                                 std::vector<ProcId> missing, NodeId except) {
  series.UpdatePlace(p_.jobs, p_.tree, p_.self);
  auto node = series.active.extract(sequence);
  Instance& instance = node.mapped();
  p_.table.Cancel(instance.deadlines);
  CompletedCollective completed{status,
                                std::move(missing),
                                std::move(instance.contributions),
                                {},
                                series.place.parent,
                                status == kSuccess ? instance.result : Bytes()};
  NotifyBelow(step, series, sequence, instance, except, &completed);
  TakeResult(step, series, sequence, completed, &instance);
  if (!instance.waiters.empty()) {
    const CollectiveAnswer answer =
        AnswerOf(series.id, status, completed.result, p_.jobs);
    for (const CollectiveWaiter& w : instance.waiters) {
      ReplyTo(step, w, answer);
    }
  }
  if (OperationOf(series).has_result()) completed.contributions.clear();
  series.completed.emplace(sequence, std::move(completed));
  if (status == kSuccess) series.SkipEarlier(sequence);
  series.AdvanceNext();
  series.PruneCompleted(p_.jobs);
  Advance(step, series, series.next);
}

void CollectiveProgress::NotifyBelow(const StepContext& step,
                                     const Series& series, uint64_t sequence,
                                     const Instance& instance, NodeId except,
                                     CompletedCollective* completed) {
  std::set<NodeId>& notified = completed->notified;
  notified.insert(series.place.children.begin(), series.place.children.end());
  notified.insert(instance.contributors.begin(), instance.contributors.end());
  notified.erase(series.place.parent);
  if (except != kNoNode) notified.erase(except);
  for (const NodeId to : notified) {
    if (p_.tree.alive(to)) SendDown(step, series, sequence, *completed, to);
  }
  if (except != kNoNode) notified.insert(except);
}

// Applies the result to this node's state before its processes get it.
void CollectiveProgress::TakeResult(const StepContext& step, Series& series,
                                    uint64_t sequence,
                                    CompletedCollective& completed,
                                    Instance* instance) {
  const bool succeeded = completed.status == kSuccess;
  Operation& operation = OperationOf(series);
  if (succeeded) StoreResult(step, series, sequence, completed, instance);
  // A later disconnect may fail first: the processes stay connected until the
  // earlier one is over.
  if (succeeded || sequence <= series.next) {
    operation.OnCompleted(step, series, sequence, *instance, &completed);
  }
  if (!succeeded) operation.OnFailed(step, series, *instance, completed);
  // A failure is not logged on a node without waiters.
  if (!succeeded && !instance->waiters.empty()) {
    const auto owner = p_.jobs.OwnerOf(instance->waiters.front().proc);
    LogLine line{LogLine::Level::kWarning,
                 FailureText(series.id, sequence, completed)};
    if (owner) line.uid = owner->uid;
    step.out.push_back(std::move(line));
  }
  Persist(step, series, sequence, completed, instance->collect);
}

void CollectiveProgress::StoreResult(const StepContext& step, Series& series,
                                     uint64_t sequence,
                                     const CompletedCollective& completed,
                                     Instance* instance) {
  if (series.members->local.empty()) return;
  for (const ProcId& proc : series.id.participants) {
    p_.jobs.Register(proc.nspace, &step.out);
  }
  p_.jobs.NoteMet(series.id.participants);
  OperationOf(series).StoreData(step, completed);
  if (!instance->sent_versions.empty() &&
      !MayBePredecessors(series, sequence)) {
    series.acknowledged = std::move(instance->sent_versions);
  }
}

// The record is written before the replies: if some waiters do not get their
// reply, a successor must know the result. The record is stored in the journal
// of each local job, because any of these jobs may be over before a successor
// needs it.
void CollectiveProgress::Persist(const StepContext& step, const Series& series,
                                 uint64_t sequence,
                                 const CompletedCollective& completed,
                                 bool collect) {
  if (!persists_ || series.members->local.empty()) return;
  const CollectiveRecord record{
      sequence, completed.status, OperationOf(series).IsInEffect(series.id),
      collect,  completed.result, completed.members};
  const std::string* last = nullptr;
  for (const ProcId& proc : series.members->local) {
    if (last != nullptr && proc.nspace == *last) continue;
    last = &proc.nspace;
    step.out.push_back(EncodeCollective(proc.nspace, series.id, record));
  }
}

bool CollectiveProgress::MayBePredecessors(const Series& series,
                                           uint64_t sequence) const {
  return sequence <= series.recovered &&
         std::ranges::any_of(series.members->local, [&](const ProcId& proc) {
           return recovered_.contains(proc.nspace);
         });
}

void CollectiveProgress::Fail(const StepContext& step, Series& series,
                              uint64_t sequence, int status,
                              std::vector<ProcId> missing, NodeId except) {
  series.UpdatePlace(p_.jobs, p_.tree, p_.self);
  const NodeId parent = series.place.parent;
  if (parent != kNoNode && parent != except) {
    SendTo(step, p_.self, parent, FailureUp(series, sequence, status, missing));
  }
  Release(step, series, sequence, status, std::move(missing), except);
}

// Returns whether this agent can no longer decide: the top has, or will have,
// all contributions of this subtree, and may have released the collective.
bool CollectiveProgress::IsDecidedAbove(const Series& series, uint64_t sequence,
                                        const Instance& instance) {
  return !OperationOf(series).may_end_differently() &&
         series.place.parent != kNoNode &&
         (instance.sent || MayBePredecessors(series, sequence));
}

// An operation that connects processes must not succeed for some and fail for
// others. So if the top decides, the agent only requests the failure.
void CollectiveProgress::FailOrAsk(const StepContext& step, Series& series,
                                   uint64_t sequence, int status,
                                   std::vector<ProcId> missing, NodeId except) {
  series.UpdatePlace(p_.jobs, p_.tree, p_.self);
  Instance& instance = series.active.at(sequence);
  if (!IsDecidedAbove(series, sequence, instance)) {
    return Fail(step, series, sequence, status, std::move(missing), except);
  }
  if (instance.asked != kSuccess) return;
  instance.asked = status;
  instance.asked_missing = std::move(missing);
  SendTo(step, p_.self, series.place.parent,
         FailureUp(series, sequence, status, instance.asked_missing));
}

bool CollectiveProgress::EndIfGone(const StepContext& step, Series& series,
                                   uint64_t sequence) {
  series.UpdatePlace(p_.jobs, p_.tree, p_.self);
  if (series.suspects.empty()) return false;
  Instance& instance = series.active.at(sequence);
  if (instance.group.tolerant()) return false;
  bool in_order = true;
  std::vector<ProcId> missing;
  for (const ProcId& proc : series.suspects) {
    const Job* job = p_.jobs.Find(proc.nspace);
    if (job == nullptr) continue;
    const RankState& state = job->ranks[proc.rank];
    const NodeId node = job->agent_of(proc.rank);
    if (node == p_.self) {
      const int index = series.members->LocalIndex(proc);
      if (index < 0 || instance.arrived[index] || !state.gone()) continue;
    } else if (!Awaits(series, instance, node)) {
      continue;
    } else if (p_.tree.alive(node)) {
      if (!state.gone()) continue;
      if (OperationOf(series).asks_agents_of_gone_members()) {
        AskToEnd(step, series, sequence, node, &instance);
        continue;
      }
    }
    in_order &= state.gone() && state.finalized;
    missing.push_back(proc);
  }
  if (missing.empty()) return false;
  std::ranges::sort(missing);
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  FailOrAsk(step, series, sequence,
            in_order ? kErrProcTermWoSync : kErrProcAborted, std::move(missing),
            kNoNode);
  return !series.active.contains(sequence);
}

// Only the agent of a process that is gone knows for certain whether the
// process had left the group before.
void CollectiveProgress::AskToEnd(const StepContext& step, const Series& series,
                                  uint64_t sequence, NodeId node,
                                  Instance* instance) const {
  if (!instance->asked_to_end.insert(node).second) return;
  SendTo(step, p_.self, node, ContributionsUp(series, sequence, kSuccess, {}));
}

void CollectiveProgress::Expire(const StepContext& step, Series& series,
                                uint64_t sequence) {
  series.UpdatePlace(p_.jobs, p_.tree, p_.self);
  std::vector<ProcId> missing;
  for (const MissingProc& m :
       MissingIn(series, series.active.at(sequence), p_.jobs, p_.self)) {
    missing.push_back(m.proc);
  }
  FailOrAsk(step, series, sequence, kErrTimeout, std::move(missing), kNoNode);
}

// ------------------------------------------------------ changes of agents ---

void CollectiveProgress::OnTreeChanged(const StepContext& step,
                                       Series& series) {
  series.UpdatePlace(p_.jobs, p_.tree, p_.self);
  ResendReports(step, series);
  for (auto& [sequence, instance] : series.active) {
    std::erase_if(instance.contributors,
                  [&](NodeId n) { return !p_.tree.alive(n); });
    instance.asked_to_end.clear();
  }
  for (const uint64_t sequence : series.ActiveSequences()) {
    const auto it = series.active.find(sequence);
    if (it == series.active.end()) continue;
    // This agent has requested a failure, but no agent above decides any more.
    // So this agent fails the collective itself.
    if (Instance& one = it->second;
        one.asked != kSuccess && !IsDecidedAbove(series, sequence, one)) {
      Fail(step, series, sequence, one.asked, std::move(one.asked_missing),
           kNoNode);
    } else if (!EndIfGone(step, series, sequence)) {
      Advance(step, series, sequence);
    }
  }
}

// A new parent may lack the results of the last collectives, and other subtrees
// below it may wait for this subtree's contributions. Both are sent to it.
void CollectiveProgress::ResendReports(const StepContext& step,
                                       Series& series) {
  const NodeId parent = series.place.parent;
  for (auto& [sequence, completed] : series.completed) {
    // A release may have been lost with the node that was to forward it. A
    // neighbour that lacks the release contributes again and must get an
    // answer.
    completed.notified.clear();
    if (completed.parent == parent) continue;
    completed.parent = parent;
    if (parent == kNoNode) continue;
    if (completed.status != kSuccess) {
      SendTo(step, p_.self, parent,
             FailureUp(series, sequence, completed.status, completed.missing));
      continue;
    }
    Contributions mine;
    for (const NodeId node : series.place.below) {
      // Contributions that are contained in the result have been dropped.
      if (OperationOf(series).has_result()) mine.try_emplace(node);
      const auto it = completed.contributions.find(node);
      if (it != completed.contributions.end()) mine.insert(*it);
    }
    CollectiveUp up = ContributionsUp(series, sequence, kAlreadyReleased, mine);
    up.result = completed.result;
    SendTo(step, p_.self, parent, std::move(up));
  }
}

void CollectiveProgress::OnNodeRestarted(const StepContext& step,
                                         Series& series, NodeId node) {
  const auto forget = [node](NodeId* known) {
    if (*known == node) *known = kNoNode;
  };
  series.UpdatePlace(p_.jobs, p_.tree, p_.self);
  // The restarted agent has lost the delta base.
  series.acknowledged.clear();
  for (auto& [sequence, completed] : series.completed) {
    completed.notified.erase(node);
    forget(&completed.parent);
    for (auto& [from, one] : completed.contributions) forget(&one.via);
  }
  if (series.place.parent == node) ResendReports(step, series);
  for (auto& [sequence, instance] : series.active) {
    instance.contributors.erase(node);
    instance.asked_to_end.clear();
    forget(&instance.sent_to);
    for (auto& [from, one] : instance.contributions) forget(&one.via);
  }
  for (const uint64_t sequence : series.ActiveSequences()) {
    if (series.active.contains(sequence) &&
        !EndIfGone(step, series, sequence)) {
      Advance(step, series, sequence);
    }
  }
  if (!std::ranges::count(series.place.children, node)) return;
  for (auto& [sequence, completed] : series.completed) {
    if (completed.status != kSuccess) continue;
    completed.notified.insert(node);
    SendDown(step, series, sequence, completed, node);
  }
}

void CollectiveProgress::ReleaseRecovered(const StepContext& step,
                                          Series& series) {
  while (!series.active.empty() &&
         series.active.begin()->first < series.recovered) {
    auto node = series.active.extract(series.active.begin());
    p_.table.Cancel(node.mapped().deadlines);
    const auto completed = series.completed.find(node.key());
    const CollectiveAnswer answer =
        completed == series.completed.end()
            ? AnswerOf(series.id, kSuccess, series.RecoveredResult(node.key()),
                       p_.jobs)
            : AnswerOf(series.id, completed->second.status,
                       completed->second.result, p_.jobs);
    for (const CollectiveWaiter& w : node.mapped().waiters) {
      ReplyTo(step, w, answer);
    }
  }
  Advance(step, series, series.next);
}

}  // namespace canopy::core
