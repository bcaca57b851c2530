#include "server/core/host/control_targets.h"

#include <algorithm>

#include "common/status.h"
#include "server/core/job/text.h"

namespace canopy::core {
namespace {

// Maximum number of pending requests at one controller.
constexpr size_t kMaxExecutions = 4096;

bool IsEveryone(const std::vector<ProcId>& targets) {
  return targets.empty() ||
         std::ranges::count(targets, kRankWildcard, &ProcId::rank) > 0;
}

// Returns the ranks of the targets, ascending.
std::vector<Rank> RanksOf(const Job& job, const std::vector<ProcId>& targets) {
  std::set<Rank> ranks;
  if (IsEveryone(targets)) {
    for (Rank rank = 0; rank < job.num_ranks(); ++rank) ranks.insert(rank);
  }
  for (const ProcId& target : targets) {
    if (target.rank < job.num_ranks()) ranks.insert(target.rank);
  }
  return {ranks.begin(), ranks.end()};
}

bool AreThere(const Job& job, const std::vector<ProcId>& targets) {
  return std::ranges::all_of(targets, [&](const ProcId& target) {
    return target.nspace == job.nspace() &&
           (target.rank == kRankWildcard || target.rank < job.num_ranks());
  });
}

std::string ReasonOf(const HostRequest& request, const JobControl& control) {
  return "process " + ToString(request.proc) + " asked to " +
         ActionName(control) + " it";
}

}  // namespace

ControlTargets::ControlTargets(NodeId self, const Tree& tree,
                               const JobTable& jobs, JobEngine& engine)
    : self_(self), tree_(tree), jobs_(jobs), engine_(engine) {}

void ControlTargets::OnRequest(const StepContext& step, NodeId src,
                               const HostRequest& request) {
  const NodeId controller = engine_.ControllerOf(request.nspace);
  if (controller == self_) return Begin(step, src, request);
  if (controller == src) {
    return Leave(src, request, SignalHere(step, request));
  }
  // The sender and this agent disagree about the controller of the job. If the
  // controller is lost, the processes of the job have ended.
  Refuse(step.now, src, request, kErrNotFound);
}

void ControlTargets::Refuse(TimeNs now, NodeId src, const HostRequest& request,
                            int status) {
  refusals_.Add(now, request, status);
  Leave(src, request, status);
}

// ---------------------------------------------------------- the controller ---

void ControlTargets::Begin(const StepContext& step, NodeId src,
                           const HostRequest& request) {
  const Key key{request.nspace, {request.proc, request.request}};
  if (const auto known = executions_.find(key); known != executions_.end()) {
    known->second.origin = src;
    return;
  }
  if (const int before = refusals_.StatusOf(step.now, request);
      before != kSuccess) {
    return Leave(src, request, before);
  }
  Execution execution;
  execution.request = request;
  execution.origin = src;
  execution.since = step.now;
  const Job* job = jobs_.Find(request.nspace);
  int status = ParseJobControl(request.call, &execution.control);
  if (status == kSuccess && job == nullptr) {
    const bool over = execution.ends() && jobs_.WasRemoved(request.nspace);
    return over ? Leave(src, request, kSuccess)
                : Refuse(step.now, src, request, kErrNotFound);
  }
  if (status == kSuccess) status = Check(*job, request);
  if (status == kSuccess && execution.control.action == ControlAction::kNone) {
    status = kErrNotSupported;
  }
  if (status != kSuccess) return Refuse(step.now, src, request, status);
  executions_.emplace(key, std::move(execution));
  Execute(step, key);
}

int ControlTargets::Check(const Job& job, const HostRequest& request) const {
  if (request.uid != job.spec->uid) return kErrNoPermissions;
  if (!AreThere(job, request.targets)) return kErrNotFound;
  return executions_.size() < kMaxExecutions ? kSuccess : kErrOutOfResource;
}

// A signal that arrives before the processes run would be lost, so it waits for
// the launch.
void ControlTargets::Execute(const StepContext& step, const Key& key) {
  Execution& execution = executions_.at(key);
  if (execution.ends()) {
    End(step, &execution);
  } else {
    execution.waits_for_launch = engine_.StatusOf(key.first) == kLaunching;
    if (execution.waits_for_launch) return;
    Signal(step, &execution);
  }
  FinishIfDone(key);
}

void ControlTargets::End(const StepContext& step, Execution* execution) {
  const HostRequest& request = execution->request;
  const std::vector<ProcId>& targets = request.targets;
  std::vector<Rank> ranks;
  if (!IsEveryone(targets)) {
    ranks = RanksOf(*jobs_.Find(request.nspace), targets);
  }
  execution->done = true;
  engine_.EndRanks(step, request.nspace, ranks,
                   ReasonOf(request, execution->control),
                   execution->control.action == ControlAction::kKill);
  const Job* job = jobs_.Find(request.nspace);
  if (job == nullptr) return;
  for (const Rank rank : RanksOf(*job, targets)) {
    if (!job->ranks[rank].ended) execution->ranks.insert(rank);
  }
}

// The request is sent even if the targets have ended, because it may already
// have been executed.
void ControlTargets::Signal(const StepContext& step, Execution* execution) {
  const Job& job = *jobs_.Find(execution->request.nspace);
  for (const Rank rank : RanksOf(job, execution->request.targets)) {
    const NodeId node = job.agent_of(rank);
    if (node == self_ || tree_.alive(node)) execution->nodes.insert(node);
  }
  const std::set<NodeId> nodes = execution->nodes;
  for (const NodeId node : nodes) Ask(step, node, execution);
}

void ControlTargets::Ask(const StepContext& step, NodeId node,
                         Execution* execution) {
  HostRequest request = execution->request;
  if (node == self_) {
    return Note(node, SignalHere(step, request), execution);
  }
  const Job& job = *jobs_.Find(request.nspace);
  if (IsEveryone(request.targets)) request.targets.clear();
  std::erase_if(request.targets, [&](const ProcId& target) {
    return job.agent_of(target.rank) != node;
  });
  step.out.push_back(SendPeer{PeerMessage{self_, node, std::move(request)}});
}

void ControlTargets::Note(NodeId node, int status, Execution* execution) {
  if (execution->nodes.erase(node) == 0) return;
  execution->done |= status == kSuccess;
  if (status != kSuccess && status != kErrNotFound && execution->error == 0) {
    execution->error = status;
  }
}

void ControlTargets::OnReply(NodeId src, const HostReply& reply) {
  const Key key{reply.nspace, {reply.proc, reply.request}};
  const auto it = executions_.find(key);
  if (it == executions_.end() || !it->second.nodes.contains(src)) return;
  Note(src, reply.status, &it->second);
  FinishIfDone(key);
}

int ControlTargets::StatusOf(const Execution& execution) {
  if (execution.error != kSuccess) return execution.error;
  return execution.done ? kSuccess : kErrNotFound;
}

void ControlTargets::FinishIfDone(const Key& key) {
  const auto it = executions_.find(key);
  if (it == executions_.end() || it->second.waits_for_launch ||
      it->second.open()) {
    return;
  }
  Finish(key, StatusOf(it->second));
}

void ControlTargets::Finish(const Key& key, int status) {
  const auto execution = executions_.extract(key);
  if (execution.empty()) return;
  Leave(execution.mapped().origin, execution.mapped().request, status);
}

void ControlTargets::Leave(NodeId to, const HostRequest& request, int status) {
  answers_.push_back(
      {to, {request.proc, request.request, request.nspace, status, {}}});
}

// ------------------------------------------------------ where targets run ---

int ControlTargets::SignalHere(const StepContext& step,
                               const HostRequest& request) {
  const Job* job = jobs_.Find(request.nspace);
  if (job == nullptr) return kErrNotFound;
  if (request.uid != job->spec->uid) return kErrNoPermissions;
  JobControl control;
  const int status = ParseJobControl(request.call, &control);
  if (status != kSuccess) return status;
  if (control.action != ControlAction::kSignal) return kErrNotSupported;
  const ControlId id{request.proc, request.request};
  if (records_.Contains(request.nspace, id)) return kSuccess;
  std::vector<Rank> ranks = RanksOf(*job, request.targets);
  std::erase_if(ranks, [job](Rank rank) {
    return !job->is_local(rank) || job->ranks[rank].ended;
  });
  if (ranks.empty()) return kErrNotFound;
  step.out.push_back(records_.Add(request.nspace, id));
  step.out.push_back(
      SignalLocal{request.nspace, control.signal, std::move(ranks)});
  return kSuccess;
}

// --------------------------------------------------------------- changes ---

std::vector<ControlTargets::Key> ControlTargets::KeysOf(
    const std::string& nspace) const {
  std::vector<Key> keys;
  for (auto it = executions_.lower_bound({nspace, {}});
       it != executions_.end() && it->first.first == nspace; ++it) {
    keys.push_back(it->first);
  }
  return keys;
}

void ControlTargets::OnLaunched(const StepContext& step,
                                const std::string& nspace) {
  // The launch may have failed; the job is removed in that case.
  if (jobs_.Find(nspace) == nullptr) return;
  for (const Key& key : KeysOf(nspace)) {
    if (executions_.at(key).waits_for_launch) Execute(step, key);
  }
}

void ControlTargets::OnRankGone(const ProcId& proc) {
  const Job* job = jobs_.Find(proc.nspace);
  if (job == nullptr || !job->ranks[proc.rank].ended) return;
  for (const Key& key : KeysOf(proc.nspace)) {
    Execution& execution = executions_.at(key);
    if (execution.ranks.erase(proc.rank) != 0) FinishIfDone(key);
  }
}

void ControlTargets::OnJobRemoved(const std::string& nspace) {
  for (const Key& key : KeysOf(nspace)) {
    Finish(key, StatusOf(executions_.at(key)));
  }
  records_.OnJobRemoved(nspace);
}

void ControlTargets::OnTreeChanged(const StepContext& step) {
  std::vector<Key> keys;
  for (const auto& [key, execution] : executions_) keys.push_back(key);
  for (const Key& key : keys) {
    if (jobs_.Find(key.first) == nullptr) continue;
    Execution& execution = executions_.at(key);
    if (execution.ends()) {
      End(step, &execution);
    } else {
      AskAgain(step, &execution);
    }
    FinishIfDone(key);
  }
}

void ControlTargets::AskAgain(const StepContext& step, Execution* execution) {
  const std::set<NodeId> nodes = execution->nodes;
  for (const NodeId node : nodes) {
    if (tree_.alive(node)) {
      Ask(step, node, execution);
    } else {
      Note(node, kErrNotFound, execution);
    }
  }
}

// ------------------------------------------------------------------ time ---

void ControlTargets::OnTick(TimeNs now) {
  std::vector<Key> late;
  for (const auto& [key, execution] : executions_) {
    if (execution.since + kControlTimeout <= now) late.push_back(key);
  }
  for (const Key& key : late) Finish(key, kErrTimeout);
}

TimeNs ControlTargets::NextDeadline() const {
  TimeNs next = kNever;
  for (const auto& [key, execution] : executions_) {
    next = std::min(next, execution.since + kControlTimeout);
  }
  return next;
}

void ControlTargets::Describe(TimeNs now, const std::string& nspace,
                              std::vector<Waiting>* out) const {
  for (const auto& [key, execution] : executions_) {
    if (!nspace.empty() && execution.request.proc.nspace != nspace) continue;
    out->push_back(Report(now, execution));
  }
}

Waiting ControlTargets::Report(TimeNs now, const Execution& execution) const {
  const std::string& target = execution.request.nspace;
  Waiting waiting;
  waiting.nspace = execution.request.proc.nspace;
  waiting.operation = "job control of " + target;
  waiting.age_ms = static_cast<uint64_t>(now - execution.since) / 1'000'000;
  const Job* job = jobs_.Find(target);
  if (job == nullptr) return waiting;
  for (const Rank rank : RanksOf(*job, execution.request.targets)) {
    const NodeId node = job->agent_of(rank);
    if (!execution.ranks.contains(rank) && !execution.nodes.contains(node)) {
      continue;
    }
    if (waiting.missing.size() < kMaxMissing) {
      waiting.missing.push_back({{target, rank}, node, true});
    } else {
      ++waiting.more_missing;
    }
  }
  return waiting;
}

}  // namespace canopy::core
