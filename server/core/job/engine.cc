#include "server/core/job/engine.h"

#include <algorithm>
#include <set>
#include <utility>

#include "common/status.h"
#include "server/core/job/text.h"

namespace canopy::core {

JobEngine::JobEngine(NodeId self, std::vector<std::string> node_names,
                     const Tree& tree, JobTable& table)
    : self_(self),
      tree_(tree),
      table_(table),
      resync_(self, tree),
      jobs_(self, std::move(node_names), tree, table, resync_),
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
  const JobEntry* job = jobs_.Find(nspace);
  return job == nullptr ? tree_.root() : job->part.place().controller();
}

void JobEngine::OnLaunchRequested(TimeNs now, const LaunchRequested& in,
                                  Actions* actions) {
  const JobStep step = StepAt(now, actions);
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

bool JobEngine::OnPeer(TimeNs now, const PeerMessage& message,
                       Actions* actions) {
  const JobStep step = StepAt(now, actions);
  const bool taken = messages_.Take(step, message);
  TakeDeferred(step);
  return taken;
}

// ------------------------------------------------------- local processes ---

void JobEngine::OnLocalPrepared(TimeNs now, const LocalPrepared& in,
                                Actions* actions) {
  const JobStep step = StepAt(now, actions);
  JobEntry* job = jobs_.Find(in.nspace);
  if (job == nullptr || !job->part.has_local()) return;
  job->part.OnLocalPrepared(step, in);
  if (job->head) job->head->OnAnswer();
  jobs_.Advance(step, *job);
  TakeDeferred(step);
}

void JobEngine::OnLocalStarted(TimeNs now, const LocalStarted& in,
                               Actions* actions) {
  const JobStep step = StepAt(now, actions);
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

void JobEngine::OnLocalExits(TimeNs now, const LocalExits& in,
                             Actions* actions) {
  const JobStep step = StepAt(now, actions);
  JobEntry* job = jobs_.Find(in.nspace);
  if (job == nullptr) return;
  const Job* known = table_.Find(in.nspace);
  for (ProcExit exit : in.exits) {
    if (known == nullptr || !known->is_local(exit.rank)) continue;
    // The shim reports how a process ended. What the process did before is
    // known from its connection, through the table.
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

void JobEngine::OnLocalOutput(TimeNs now, const LocalOutput& in,
                              Actions* actions) {
  const JobStep step = StepAt(now, actions);
  JobEntry* job = jobs_.Find(in.nspace);
  if (job != nullptr) jobs_.OnLocalOutput(step, *job, in);
}

void JobEngine::OnLocalInputDone(TimeNs now, const LocalInputDone& in,
                                 Actions* actions) {
  const JobStep step = StepAt(now, actions);
  JobEntry* job = jobs_.Find(in.nspace);
  if (job == nullptr || !job->part.has_local()) return;
  job->part.streams().OnInputTaken(step, in);
  if (!job->head) return;
  job->head->streams().OnInputTaken(step, job->part.local_node(),
                                    job->part.streams().CreditOf(in));
}

// --------------------------------------------------------------- control ---

void JobEngine::OnSignalRequested(TimeNs now, const SignalRequested& in,
                                  Actions* actions) {
  const JobEntry* job = jobs_.FindControlled(in.nspace);
  if (job != nullptr) job->head->OnSignalRequested(StepAt(now, actions), in);
}

void JobEngine::OnKillRequested(TimeNs now, const KillRequested& in,
                                Actions* actions) {
  const JobStep step = StepAt(now, actions);
  JobEntry* job = jobs_.FindControlled(in.nspace);
  if (job == nullptr) return;
  if (job->head->OnKillRequested(step, in)) jobs_.Finish(step, *job);
}

void JobEngine::OnTimeLimitSet(TimeNs now, const TimeLimitSet& in,
                               Actions* actions) {
  JobEntry* job = jobs_.FindControlled(in.nspace);
  if (job != nullptr) job->head->OnTimeLimitSet(StepAt(now, actions), in);
}

void JobEngine::OnHoldEnded(TimeNs now, const std::string& nspace,
                            Actions* actions) {
  JobEntry* job = jobs_.FindControlled(nspace);
  if (job != nullptr) job->head->OnHoldEnded(StepAt(now, actions));
}

void JobEngine::OnAbort(TimeNs now, const AbortMessage& in, Actions* actions) {
  messages_.Abort(StepAt(now, actions), in);
}

void JobEngine::EndRanks(TimeNs now, const std::string& nspace,
                         const std::vector<Rank>& ranks,
                         const std::string& reason, bool immediately,
                         Actions* actions) {
  const JobStep step = StepAt(now, actions);
  JobEntry* job = jobs_.FindControlled(nspace);
  if (job == nullptr) return;
  if (job->head->EndRanks(step, reason, ranks, immediately)) {
    jobs_.Finish(step, *job);
  }
}

void JobEngine::OnOutputConsumed(TimeNs now, const OutputConsumed& in,
                                 Actions* actions) {
  const JobStep step = StepAt(now, actions);
  JobEntry* job = jobs_.FindControlled(in.nspace);
  if (job == nullptr) return;
  if (job->head->OnOutputConsumed(step, in)) jobs_.Finish(step, *job);
}

void JobEngine::OnInputOffered(TimeNs now, const InputOffered& in,
                               Actions* actions) {
  const JobStep step = StepAt(now, actions);
  JobEntry* job = jobs_.FindControlled(in.nspace);
  if (job == nullptr) return;
  if (job->head->OnInputOffered(step, in)) jobs_.Finish(step, *job);
}

void JobEngine::OnLauncherReattached(TimeNs now, const LauncherReattached& in,
                                     Actions* actions) {
  const JobStep step = StepAt(now, actions);
  JobEntry* job = jobs_.FindControlled(in.nspace);
  if (job == nullptr) return;
  if (job->head->OnLauncherReattached(step, in)) jobs_.Finish(step, *job);
}

// ------------------------------------------------------- changes of tree ---

void JobEngine::OnNodeLost(TimeNs now, const NodeStateChanged& in,
                           Actions* actions) {
  const NodeId node = in.node;
  const JobStep step = StepAt(now, actions);
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

// The returned node may route messages between other agents.
void JobEngine::OnNodeReturned(TimeNs now, Actions* actions) {
  const JobStep step = StepAt(now, actions);
  resync_.OnNodeReturned(now);
  jobs_.ForEach([&](JobEntry& job) {
    if (job.releasing()) return;
    job.part.OnTreeChanged(step);
    jobs_.Advance(step, job);
  });
  TakeDeferred(step);
  resync_.Release(step);
}

void JobEngine::OnNodeRestarted(TimeNs now, NodeId node, Actions* actions) {
  const JobStep step = StepAt(now, actions);
  resync_.OnNodeRestarted(step, node);
  jobs_.ForEach([&](JobEntry& job) {
    job.part.OnNodeRestarted(step, node);
    if (job.head) job.head->streams().OnNodeRestarted(step, node);
    jobs_.Advance(step, job);
  });
  TakeDeferred(step);
}

void JobEngine::OnRecovered(TimeNs now, const JobRecovered& in,
                            Actions* actions) {
  jobs_.Recover(StepAt(now, actions), in);
}

// ------------------------------------------------------------------ time ---

void JobEngine::OnTick(TimeNs now, Actions* actions) {
  const JobStep step = StepAt(now, actions);
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
