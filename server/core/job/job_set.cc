#include "server/core/job/job_set.h"

#include <set>
#include <utility>

#include "common/status.h"
#include "server/core/job/records.h"
#include "server/core/job/text.h"

namespace canopy::core {

JobSet::JobSet(NodeId self, const std::vector<std::string>& node_names,
               const Tree& tree, JobTable& table, JobResync& resync)
    : self_(self),
      node_names_(node_names),
      tree_(tree),
      table_(table),
      resync_(resync) {}

JobEntry* JobSet::Find(const std::string& nspace) {
  const auto it = entries_.find(nspace);
  return it == entries_.end() ? nullptr : it->second.get();
}

const JobEntry* JobSet::Find(const std::string& nspace) const {
  const auto it = entries_.find(nspace);
  return it == entries_.end() ? nullptr : it->second.get();
}

JobEntry* JobSet::FindControlled(const std::string& nspace) {
  JobEntry* job = Find(nspace);
  return job != nullptr && job->head ? job : nullptr;
}

void JobSet::ForEach(const std::function<void(JobEntry&)>& visit) {
  std::vector<std::string> names;
  for (const auto& [nspace, job] : entries_) names.push_back(nspace);
  for (const std::string& nspace : names) {
    if (JobEntry* job = Find(nspace)) visit(*job);
  }
}

// ------------------------------------------------------------- beginning ---

Status JobSet::MayLaunch(const JobSpec& spec) const {
  for (const JobNode& node : spec.nodes) {
    if (node.agent >= tree_.size() || !tree_.alive(node.agent)) {
      return Status(kErrNodeDown, "no agent is up on node " + node.name);
    }
  }
  // A launcher may have found this agent before the leader changed. A spawn is
  // executed where the spawner's job is controlled.
  const NodeId leader = tree_.leader();
  if (self_ != leader && self_ != tree_.root() && spec.parent.nspace.empty()) {
    return Status(kErrNotSupported, "jobs are launched at agent " +
                                        node_names_[leader] + ", not here");
  }
  if (entries_.contains(spec.nspace)) {
    return Status(kErrExists, "job " + spec.nspace + " exists already");
  }
  return Status();
}

// The map may already be in the table, because a local client refers to the
// job. Nodes that are lost, or whose processes are gone, are recorded as lost,
// so that the processes are not started again.
JobEntry& JobSet::Add(const JobStep& step,
                      const std::shared_ptr<const JobSpec>& spec,
                      const JobPrepare& m) {
  const std::string nspace = spec->nspace;
  const Job* known = table_.Add(spec);
  if (known == nullptr) known = table_.Find(nspace);
  std::set<NodeId> lost(m.lost.begin(), m.lost.end());
  if (without_processes_.Contains(nspace)) lost.insert(self_);
  for (const JobNode& node : known->spec->nodes) {
    if (!tree_.alive(node.agent) && !resync_.IsUnconfirmed(node.agent)) {
      lost.insert(node.agent);
    }
  }
  JobPlace place(self_, tree_, known->spec, m.controller, std::move(lost));
  auto job = std::make_unique<JobEntry>(table_, *known, std::move(place), m,
                                        persists_);
  for (const NodeId agent : resync_.TakeInquirers(nspace)) {
    job->part.place().AddProvisional(agent);
  }
  JobEntry& added = *job;
  entries_[nspace] = std::move(job);
  added.part.Begin(step);
  return added;
}

void JobSet::Launch(const JobStep& step, const LaunchRequested& in) {
  JobEntry& job =
      Add(step, in.job,
          JobPrepare{Bytes(EncodeJobSpec(*in.job)), self_, {}, in.check_only});
  job.head = std::make_unique<JobHead>(job.part, node_names_, persists_);
  job.head->Launch(step, in);
  job.part.Prepare(step);
  Advance(step, job);
}

void JobSet::TakePart(const JobStep& step,
                      const std::shared_ptr<const JobSpec>& spec,
                      const JobPrepare& m) {
  JobEntry& job = Add(step, spec, m);
  job.part.Prepare(step);
  Advance(step, job);
}

void JobSet::Recover(const JobStep& step, const JobRecovered& in) {
  const std::string& nspace = in.job->nspace;
  if (in.over) return DropRecovered(step, in);
  const RecoveredRole role =
      ReadRole(step.now, in, self_, tree_.root(), tree_.size());
  if (entries_.contains(nspace) || !role.Usable(self_)) {
    step.Log(LogLine::Level::kError,
             "job " + nspace + ": its controller ended; ending what runs here");
    return DropRecovered(step, in);
  }
  JobPrepare prepare{Bytes(EncodeJobSpec(*in.job)), role.controller, {}};
  if (role.head) {
    prepare.lost = role.head->lost;
    // The job had started, and its processes on this node are gone.
    if (!in.has_shim && role.head->started) prepare.lost.push_back(self_);
  }
  JobEntry& job = Add(step, in.job, prepare);
  step.Log(LogLine::Level::kInfo,
           "job " + nspace + ": recovered " +
               (role.head ? "with its control" : "its processes here"));
  if (role.head) {
    job.head = std::make_unique<JobHead>(job.part, node_names_, persists_);
    job.head->Recover(step, *role.head);
  }
  job.part.RecoverLocal(step, in);
  job.part.SyncChildren(step);
  Advance(step, job);
}

void JobSet::DropRecovered(const JobStep& step, const JobRecovered& in) {
  resync_.MarkEnded(in.job->nspace);
  if (in.has_shim) step.out.push_back(ForgetLocal{in.job->nspace});
}

// -------------------------------------------------------------- meantime ---

void JobSet::Advance(const JobStep& step, JobEntry& job) {
  if (job.releasing()) {
    if (!job.part.RunsHere()) Drop(step, job);
    return;
  }
  if (job.head) {
    if (job.head->Advance(step)) Finish(step, job);
    return;
  }
  job.part.Advance();
  job.part.ReportUp(step);
  // Every node of the job below this agent is lost.
  if (job.part.IsIdle()) Leave(job);
}

void JobSet::RecordExit(const JobStep& step, JobEntry& job,
                        const ProcExit& exit) {
  if (job.part.AddEnd({exit, false}) && job.head) job.head->OnExit(step, exit);
}

bool JobSet::TakeOutput(const JobStep& step, JobEntry& job,
                        const LocalOutput& in) {
  if (!job.head) {
    job.part.streams().SendOutput(step, in);
    return true;
  }
  const OutputData output{in.nspace, in.rank, in.channel, in.data, in.end};
  if (!job.head->OnOutput(step, output)) return true;
  Finish(step, job);
  return false;
}

bool JobSet::OnLocalOutput(const JobStep& step, JobEntry& job,
                           const LocalOutput& in) {
  if (in.data.empty() && job.restarts.HoldEnd(in)) return true;
  return TakeOutput(step, job, in);
}

bool JobSet::OnLocalExit(const JobStep& step, JobEntry& job,
                         const ProcExit& exit, bool final) {
  if (!final && MayRestart(job, exit)) {
    job.restarts.Add(step.now, exit);
    return true;
  }
  for (const LocalOutput& end : job.restarts.TakeEnds(exit.rank)) {
    if (!TakeOutput(step, job, end)) return false;
  }
  RecordExit(step, job, exit);
  return true;
}

// If a rank or its job was ordered to end before the rank's restart was due,
// the rank's exit is final.
void JobSet::RestartDue(const JobStep& step, JobEntry& job) {
  bool changed = false;
  for (ProcExit& exit : job.restarts.TakeDue(step.now)) {
    changed = true;
    if (!job.part.MayRestart(exit.rank)) {
      if (!OnLocalExit(step, job, exit, /*final=*/true)) return;
      continue;
    }
    job.restarts.DropEnds(exit.rank);
    job.part.Restart(step, exit);
    exit.restarted = true;
    if (job.head) job.head->OnExit(step, exit);
  }
  if (changed) Advance(step, job);
}

void JobSet::OnNodeLost(const JobStep& step, JobEntry& job, NodeId node,
                        const std::string& reason) {
  job.part.OnNodeLost(step, node);
  if (job.head) job.head->OnNodeLost(step, node, reason);
}

void JobSet::OnMap(const std::string& nspace) {
  const Job* job = table_.Find(nspace);
  if (job == nullptr || entries_.contains(nspace) ||
      !without_processes_.Contains(nspace)) {
    return;
  }
  for (const Rank rank : job->local_ranks()) table_.MarkEnded(nspace, rank);
}

// ---------------------------------------------------------------- ending ---

void JobSet::Finish(const JobStep& step, JobEntry& job) {
  resync_.MarkEnded(job.part.nspace());
  job.part.SendForget(step);
  Drop(step, job);
}

void JobSet::Release(const JobStep& step, JobEntry& job) {
  job.part.SendForget(step);
  if (job.part.Release(step)) Drop(step, job);
}

void JobSet::OnControllerLost(const JobStep& step, JobEntry& job,
                              const std::string& reason) {
  step.Log(LogLine::Level::kError,
           "job " + job.part.nspace() + " lost the agent that controls it, " +
               node_names_[job.part.place().controller()] + " (" +
               OneLine(reason) + "): ending what runs here");
  Release(step, job);
}

void JobSet::Drop(const JobStep& step, JobEntry& job) {
  const std::string nspace = job.part.nspace();
  job.part.Drop(step);
  if (job.part.has_local()) without_processes_.Add(nspace);
  // Messages of senders that were lost meanwhile are dropped; this agent knows
  // of the loss.
  for (auto& [src, body] : job.deferred) {
    if (tree_.alive(src)) released_.push_back({src, self_, std::move(body)});
  }
  table_.Remove(nspace);
  entries_.erase(nspace);
}

void JobSet::Leave(const JobEntry& job) {
  const std::string nspace = job.part.nspace();
  table_.NoteLeft(nspace, job.part.place().controller());
  entries_.erase(nspace);
}

std::vector<PeerMessage> JobSet::TakeReleased() {
  return std::exchange(released_, {});
}

}  // namespace canopy::core
