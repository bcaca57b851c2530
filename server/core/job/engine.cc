#include "server/core/job/engine.h"

#include <algorithm>
#include <set>
#include <utility>

#include "common/status.h"
#include "server/core/job/text.h"

namespace canopy::core {

JobEngine::JobEngine(NodeId self, const std::vector<std::string>& node_names,
                     const Tree& tree, JobTable& table)
    : self_(self),
      tree_(tree),
      table_(table),
      resync_(self, tree, &table),
      jobs_(self, node_names, tree, table, resync_),
      messages_(jobs_, resync_) {}

// A released message may end another part, which releases the messages deferred
// for that job's next part. Hence the loop.
void JobEngine::TakeDeferred(const JobStep& step) {
  for (;;) {
    const std::vector<PeerMessage> released = jobs_.TakeReleased();
    if (released.empty()) return;
    for (const PeerMessage& message : released) messages_.Take(step, message);
  }
}

int JobEngine::StatusOf(const std::string& nspace) const {
  const JobEntry* job = jobs_.Find(nspace);
  const bool controlled = job != nullptr && job->head != nullptr;
  return controlled ? job->head->status() : kSuccess;
}

TimeNs JobEngine::EndsAt(const std::string& nspace) const {
  const JobEntry* job = jobs_.Find(nspace);
  const bool controlled = job != nullptr && job->head != nullptr;
  return controlled ? job->head->ends_at() : kNever;
}

std::vector<NodeId> JobEngine::LostOf(const std::string& nspace) const {
  const JobEntry* job = jobs_.Find(nspace);
  if (job == nullptr) return {};
  const std::set<NodeId>& lost = job->part.place().lost();
  return {lost.begin(), lost.end()};
}

NodeId JobEngine::ControllerOf(const std::string& nspace) const {
  if (const JobEntry* job = jobs_.Find(nspace)) {
    return job->part.place().controller();
  }
  const Job* borrowed = table_.Find(nspace);
  const NodeId controller =
      borrowed == nullptr ? kNoNode : borrowed->lent_by_controller;
  return tree_.alive(controller) ? controller : tree_.leader();
}

std::vector<std::string> JobEngine::Controlled() const {
  std::vector<std::string> out;
  for (const auto& [nspace, job] : jobs_.entries()) {
    if (job->head) out.push_back(nspace);
  }
  return out;
}

void JobEngine::OnLaunchRequested(const StepContext& context,
                                  const LaunchRequested& in) {
  const JobStep step = StepOf(context);
  const Status may = jobs_.MayLaunch(*in.job);
  if (may.ok()) return jobs_.Launch(step, in);
  JobChanged end;
  end.nspace = in.job->nspace;
  end.phase = JobPhase::kEnded;
  end.exit_code = kExitLaunchFailed;
  end.status = may.code();
  end.text = may.message();
  step.out.push_back(std::move(end));
}

bool JobEngine::OnPeer(const StepContext& context, const PeerMessage& message) {
  const JobStep step = StepOf(context);
  const bool taken = messages_.Take(step, message);
  TakeDeferred(step);
  return taken;
}

// ------------------------------------------------------- local processes ---

void JobEngine::OnLocalPrepared(const StepContext& context,
                                const LocalPrepared& in) {
  const JobStep step = StepOf(context);
  JobEntry* job = jobs_.Find(in.nspace);
  if (job == nullptr || !job->part.has_local()) return;
  job->part.OnLocalPrepared(step, in);
  if (job->head) job->head->OnAnswer();
  jobs_.Advance(step, *job);
  TakeDeferred(step);
}

void JobEngine::OnLocalStarted(const StepContext& context,
                               const LocalStarted& in) {
  const JobStep step = StepOf(context);
  JobEntry* job = jobs_.Find(in.nspace);
  if (job == nullptr || !job->part.has_local()) return;
  // No process runs that could report an exit, but the job is over only when
  // each rank has an exit.
  if (in.status != kSuccess && in.procs == 0) {
    for (const Rank rank :
         job->part.layout()->ranks_on(job->part.local_node())) {
      jobs_.RecordExit(step, *job, {rank, kNeverStarted, false, false, false});
    }
  }
  job->part.OnLocalStarted(step, in);
  if (job->head) job->head->OnAnswer();
  jobs_.Advance(step, *job);
  TakeDeferred(step);
}

void JobEngine::OnLocalExits(const StepContext& context, const LocalExits& in) {
  const JobStep step = StepOf(context);
  JobEntry* job = jobs_.Find(in.nspace);
  if (job == nullptr) return;
  const Job* known = table_.Find(in.nspace);
  for (ProcExit exit : in.exits) {
    if (known == nullptr || !known->is_local(exit.rank)) continue;
    // The shim reports only the end of a process. The table has the earlier
    // facts, which are known from the process's connection.
    const RankState& rank = known->ranks[exit.rank];
    exit.called_init |= rank.called_init;
    exit.finalized |= rank.finalized;
    if (!jobs_.OnLocalExit(step, *job, exit, in.final)) {
      return TakeDeferred(step);
    }
  }
  jobs_.Advance(step, *job);
  // A rank's first restart is due at once.
  if (JobEntry* left = jobs_.Find(in.nspace)) jobs_.RestartDue(step, *left);
  TakeDeferred(step);
}

bool JobEngine::WillRestart(const LocalExits& in, const ProcExit& exit) const {
  const JobEntry* job = jobs_.Find(in.nspace);
  return job != nullptr && !in.final && JobSet::MayRestart(*job, exit);
}

bool JobEngine::ToldToEnd(const std::string& nspace, Rank rank) const {
  const JobEntry* job = jobs_.Find(nspace);
  return job != nullptr && job->part.ToldToEnd(rank);
}

void JobEngine::OnLocalOutput(const StepContext& context,
                              const LocalOutput& in) {
  const JobStep step = StepOf(context);
  JobEntry* job = jobs_.Find(in.nspace);
  if (job != nullptr) jobs_.OnLocalOutput(step, *job, in);
}

void JobEngine::OnLocalInputDone(const StepContext& context,
                                 const LocalInputDone& in) {
  const JobStep step = StepOf(context);
  JobEntry* job = jobs_.Find(in.nspace);
  if (job == nullptr || !job->part.has_local()) return;
  job->part.streams().OnInputTaken(step, in);
  if (!job->head) return;
  job->head->streams().OnInputTaken(step, job->part.local_node(),
                                    job->part.streams().CreditOf(in));
}

// --------------------------------------------------------------- control ---

void JobEngine::OnSignalRequested(const StepContext& context,
                                  const SignalRequested& in) {
  const JobStep step = StepOf(context);
  if (const JobEntry* job = jobs_.FindControlled(in.nspace)) {
    return job->head->OnSignalRequested(step, in);
  }
  const NodeId controller = ControllerOf(in.nspace);
  if (table_.Find(in.nspace) == nullptr || controller == self_) return;
  step.Send(controller, JobSignal{in.nspace, in.signal, in.ranks});
}

void JobEngine::OnKillRequested(const StepContext& context,
                                const KillRequested& in) {
  const JobStep step = StepOf(context);
  JobEntry* job = jobs_.FindControlled(in.nspace);
  if (job == nullptr) return;
  if (job->head->OnKillRequested(step, in)) jobs_.Finish(step, *job);
}

void JobEngine::OnTimeLimitSet(const StepContext& context,
                               const TimeLimitSet& in) {
  JobEntry* job = jobs_.FindControlled(in.nspace);
  if (job != nullptr) job->head->OnTimeLimitSet(StepOf(context), in);
}

void JobEngine::OnHoldEnded(const StepContext& context,
                            const std::string& nspace) {
  JobEntry* job = jobs_.FindControlled(nspace);
  if (job != nullptr) job->head->OnHoldEnded(StepOf(context));
}

void JobEngine::OnAbort(const StepContext& context, const AbortMessage& in) {
  messages_.Abort(StepOf(context), in);
}

void JobEngine::EndRanks(const StepContext& context, const std::string& nspace,
                         const std::vector<Rank>& ranks,
                         const std::string& reason, bool immediately) {
  const JobStep step = StepOf(context);
  JobEntry* job = jobs_.FindControlled(nspace);
  if (job == nullptr) return;
  if (job->head->EndRanks(step, reason, ranks, immediately)) {
    jobs_.Finish(step, *job);
  }
}

void JobEngine::OnOutputConsumed(const StepContext& context,
                                 const OutputConsumed& in) {
  const JobStep step = StepOf(context);
  JobEntry* job = jobs_.FindControlled(in.nspace);
  if (job == nullptr) return;
  if (job->head->OnOutputConsumed(step, in)) jobs_.Finish(step, *job);
}

void JobEngine::OnInputOffered(const StepContext& context,
                               const InputOffered& in) {
  const JobStep step = StepOf(context);
  JobEntry* job = jobs_.FindControlled(in.nspace);
  if (job == nullptr) return;
  if (job->head->OnInputOffered(step, in)) jobs_.Finish(step, *job);
}

void JobEngine::OnLauncherReattached(const StepContext& context,
                                     const LauncherReattached& in) {
  const JobStep step = StepOf(context);
  JobEntry* job = jobs_.FindControlled(in.nspace);
  if (job == nullptr) return;
  if (job->head->OnLauncherReattached(step, in)) jobs_.Finish(step, *job);
}

// ------------------------------------------------------- changes of tree ---

void JobEngine::OnNodeLost(const StepContext& context,
                           const NodeStateChanged& in) {
  const NodeId node = in.node;
  const JobStep step = StepOf(context);
  resync_.OnNodeLost(node);
  jobs_.ForEach([&](JobEntry& job) {
    // Collectives query the table even for a job that is being released.
    job.part.MarkNodeEnded(node);
    if (job.releasing()) return;
    if (node == job.part.place().controller()) {
      return jobs_.OnControllerLost(step, job, in.reason);
    }
    jobs_.OnNodeLost(step, job, node, in.reason);
    jobs_.Advance(step, job);
  });
  TakeDeferred(step);
  resync_.Release(step);
}

// This agent's place in the tree of a job may have changed, because the
// returned node routes messages between other agents.
void JobEngine::OnNodeReturned(const StepContext& context) {
  const JobStep step = StepOf(context);
  resync_.OnNodeReturned(step.now);
  jobs_.ForEach([&](JobEntry& job) {
    if (job.releasing()) return;
    job.part.OnTreeChanged(step);
    jobs_.Advance(step, job);
  });
  TakeDeferred(step);
  resync_.Release(step);
}

void JobEngine::OnJobRemoved(const StepContext& context,
                             const RemovedJob& job) {
  resync_.OnJobRemoved(StepOf(context), job.nspace);
}

void JobEngine::OnNodeRestarted(const StepContext& context, NodeId node) {
  const JobStep step = StepOf(context);
  resync_.OnNodeRestarted(step, node);
  jobs_.ForEach([&](JobEntry& job) {
    job.part.OnNodeRestarted(step, node);
    if (job.head) job.head->streams().OnNodeRestarted(step, node);
    jobs_.Advance(step, job);
  });
  TakeDeferred(step);
}

void JobEngine::OnRecovered(const StepContext& context,
                            const JobRecovered& in) {
  jobs_.Recover(StepOf(context), in);
}

// ------------------------------------------------------------------ time ---

void JobEngine::OnTick(const StepContext& context) {
  const JobStep step = StepOf(context);
  resync_.OnTick(step);
  jobs_.ForEach([&](JobEntry& job) {
    if (job.head && job.head->OnTick(step)) return jobs_.Finish(step, job);
    jobs_.RestartDue(step, job);
  });
  TakeDeferred(step);
}

TimeNs JobEngine::NextDeadline() const {
  TimeNs next = resync_.NextDeadline();
  for (const auto& [nspace, job] : jobs_.entries()) {
    if (job->head) next = std::min(next, job->head->NextDeadline());
    next = std::min(next, job->restarts.NextDeadline());
  }
  return next;
}

void JobEngine::Describe(TimeNs now, const std::string& nspace,
                         std::vector<Waiting>* out) const {
  for (const auto& [name, job] : jobs_.entries()) {
    if (!job->head || (!nspace.empty() && name != nspace)) continue;
    Waiting waiting;
    if (job->head->Describe(now, &waiting)) out->push_back(std::move(waiting));
  }
}

}  // namespace canopy::core
