// What every agent on a job's tree does: the two launch phases, the way of the
// ends upwards and of signals downwards, and all that again when the tree
// changes.
#include <algorithm>
#include <utility>

#include "common/status.h"
#include "server/core/job_engine.h"
#include "server/core/job_text.h"

namespace canopy::core {
namespace {

// Jobs that are remembered, so that a late order does not start them again.
constexpr size_t kMaxFinished = 1024;

}  // namespace

JobState& JobEngine::Add(StepContext& step,
                         const std::shared_ptr<const JobSpec>& spec,
                         const JobPrepare& m) {
  auto job = std::make_unique<JobState>();
  // Nodes that are lost or have ended their ranks do not start them again.
  job->lost.insert(m.lost.begin(), m.lost.end());
  const bool over = job->lost.contains(self_) ||
                    std::ranges::count(finished_, spec->nspace) > 0;
  // The map may be here already, because a client deals with the job.
  const Job* entry = table_.Add(spec);
  if (entry == nullptr) entry = table_.Find(spec->nspace);
  job->spec = entry->spec;
  job->layout = entry->layout;
  job->encoded = m.spec;
  if (over) job->lost.insert(self_);
  if (!over) job->local_node = entry->local_node;
  job->explain = m.explain;
  job->controller = m.controller != kNoNode ? m.controller : tree_.root();
  job->parent = JobParent(tree_, self_, job->controller);
  job->route = JobRoute(tree_, self_, job->controller);
  for (const JobNode& node : job->spec->nodes) {
    if (!tree_.alive(node.agent) &&
        !unconfirmed_members_.contains(node.agent)) {
      job->lost.insert(node.agent);
    }
  }
  job->children = JobChildren(tree_, self_, *job);
  job->exit_known.resize(job->spec->procs.size());
  if (job->has_local()) {
    job->local_left =
        static_cast<uint32_t>(job->layout->ranks_on(job->local_node).size());
  }
  if (job->has_local()) {
    step.out.push_back(RegisterJob{job->spec, job->layout});
  }
  const auto inquirers = inquirers_.extract(spec->nspace);
  if (!inquirers.empty()) job->provisional_children = inquirers.mapped();
  JobState& added = *job;
  jobs_[added.nspace()] = std::move(job);
  for (const NodeId node : added.lost) MarkNodeEnded(added, node);
  RecordLost(step, added);
  return added;
}

void JobEngine::AskToPrepare(StepContext& step, JobState& job) {
  for (const NodeId child : job.children) {
    Send(step, child, PrepareFor(job));
  }
  if (job.has_local()) {
    step.out.push_back(PrepareLocal{job.spec, job.layout, job.explain});
    PersistController(step, job);
  }
}

JobPrepare JobEngine::PrepareFor(const JobState& job) {
  return {job.encoded,
          job.controller,
          {job.lost.begin(), job.lost.end()},
          job.explain};
}

void JobEngine::BeginStart(StepContext& step, JobState& job) {
  job.stage = LaunchStage::kStarting;
  PersistHead(step, job);
  for (const NodeId child : job.children) {
    Send(step, child, JobStart{job.nspace()});
  }
  if (job.has_local()) step.out.push_back(StartLocal{job.nspace()});
}

void JobEngine::Advance(StepContext& step, JobState& job) {
  if (job.dropping) {
    if (!job.runs_here()) Drop(step, job);
    return;
  }
  AdvancePrepare(step, job);
  AdvanceStart(step, job);
  if (job.head) return AdvanceHead(step, job);
  SendExitsUp(step, job);
  // Every node of the job below this one is lost: it has no part any more.
  if (!job.has_local() && job.children.empty()) Drop(step, job);
}

void JobEngine::AdvancePrepare(StepContext& step, JobState& job) {
  if (!job.prepare.Complete(job.Asked(self_))) return;
  if (!job.head) {
    if (std::exchange(job.prepare.sent_up, true)) return;
    PhaseAnswer sum = job.prepare.Sum(job.Asked(self_));
    return Send(step, job.parent,
                JobPrepared{job.nspace(), sum.count, std::move(sum.errors),
                            std::move(sum.notes)});
  }
  if (job.stage != LaunchStage::kPreparing || job.head->ending) return;
  PhaseAnswer sum = job.prepare.Sum(job.Asked(self_));
  if (!sum.errors.empty()) return;
  job.head->changed = true;
  job.head->notes = std::move(sum.notes);
  if (job.head->check_only) {
    job.head->ending = true;
  } else {
    BeginStart(step, job);
  }
}

void JobEngine::AdvanceStart(StepContext& step, JobState& job) {
  if (job.stage == LaunchStage::kPreparing) return;
  // An error is sent up at once: it ends the job, and must be reported before
  // the exits that it causes.
  PhaseAnswer sum = job.start.Sum(job.Asked(self_));
  if (sum.errors.empty() && !job.start.Complete(job.Asked(self_))) return;
  job.stage = LaunchStage::kRunning;
  if (job.head || std::exchange(job.start.sent_up, true)) return;
  Send(step, job.parent,
       JobStarted{job.nspace(), sum.count, std::move(sum.errors)});
}

void JobEngine::SendExitsUp(StepContext& step, JobState& job) {
  if (job.exits_sent == job.exits.size()) return;
  const auto first = job.exits.begin() + static_cast<long>(job.exits_sent);
  Send(step, job.parent, JobExits{job.nspace(), {first, job.exits.end()}});
  job.exits_sent = job.exits.size();
}

void JobEngine::RecordExit(StepContext& step, JobState& job,
                           const ProcExit& exit) {
  if (exit.rank >= job.exit_known.size() || job.exit_known[exit.rank]) return;
  job.exit_known[exit.rank] = true;
  job.exits.push_back(exit);
  table_.MarkEnded(job.nspace(), exit.rank);
  if (job.spec->procs[exit.rank].node == job.local_node) --job.local_left;
  if (!job.head) return;
  job.head->changed = true;
  if (auto failure = job.head->progress.OnExit(exit)) {
    End(step, job, std::move(*failure));
  }
}

void JobEngine::RecordNeverStarted(StepContext& step, JobState& job) {
  for (const Rank rank : job.layout->ranks_on(job.local_node)) {
    RecordExit(step, job, ProcExit{rank, kNeverStarted, false, false, false});
  }
}

// The node takes no part in the job any more, whichever agent detected its
// loss.
void JobEngine::MarkNodeLost(StepContext& step, JobState& job, NodeId node,
                             const std::string& reason) {
  if (job.layout->node_of_agent(node) != kNoNode) job.lost.insert(node);
  MarkNodeEnded(job, node);
  job.prepare.Drop(node);
  job.start.Drop(node);
  Reshape(step, job);
  if (job.head) MarkRanksLost(step, job, node, reason);
}

// Reports the lost nodes below to the controller, which may see their new
// incarnations: alive, and without the job.
void JobEngine::RecordLost(StepContext& step, JobState& job) {
  if (job.head) return;
  for (const NodeId node : job.lost) {
    const uint32_t index = job.layout->node_of_agent(node);
    const bool above =
        node != self_ && tree_.NextHop(self_, node) == job.parent;
    if (index == kNoNode || above) continue;
    for (const Rank rank : job.layout->ranks_on(index)) {
      RecordExit(step, job, ProcExit{rank, kLostWithNode, false, false, false});
    }
  }
}

void JobEngine::Signal(StepContext& step, JobState& job,
                       const JobSignal& signal) {
  for (const NodeId child : ChildrenTowards(tree_, self_, job, signal.ranks)) {
    Send(step, child, signal);
  }
  if (!job.runs_here()) return;
  std::vector<Rank> ranks = RanksOnNode(job, job.local_node, signal.ranks);
  if (ranks.empty()) return;
  if (signal.ranks.empty()) ranks.clear();
  step.out.push_back(
      SignalLocal{job.nspace(), signal.signal, std::move(ranks)});
}

void JobEngine::Kill(StepContext& step, JobState& job, const JobKill& kill,
                     uint32_t grace_ms) {
  if (kill.ranks.empty()) job.kill = kill;
  for (const NodeId child : ChildrenTowards(tree_, self_, job, kill.ranks)) {
    Send(step, child, kill);
  }
  if (!job.has_local() || job.stage == LaunchStage::kPreparing) return;
  std::vector<Rank> ranks = RanksOnNode(job, job.local_node, kill.ranks);
  if (ranks.empty()) return;
  if (kill.ranks.empty()) ranks.clear();
  step.out.push_back(KillLocal{job.nspace(), std::move(ranks), grace_ms});
}

void JobEngine::SendForget(StepContext& step, const JobState& job) {
  std::set<NodeId> below = job.provisional_children;
  below.insert(job.children.begin(), job.children.end());
  for (const NodeId agent : below) {
    if (tree_.alive(agent)) Send(step, agent, JobForget{job.nspace()});
  }
}

void JobEngine::Forget(StepContext& step, JobState& job) {
  SendForget(step, job);
  EndLocalPart(step, job);
}

void JobEngine::EndLocalPart(StepContext& step, JobState& job) {
  if (!job.runs_here()) return Drop(step, job);
  if (std::exchange(job.dropping, true)) return;
  // Forgotten by a controller that does not know what still runs here.
  step.out.push_back(
      KillLocal{job.nspace(), {}, job.spec->kill_grace_seconds * 1000});
}

void JobEngine::NoteFinished(const std::string& nspace,
                             std::deque<std::string>* jobs) {
  jobs->push_back(nspace);
  if (jobs->size() > kMaxFinished) jobs->pop_front();
}

void JobEngine::Drop(StepContext& step, JobState& job) {
  const std::string nspace = job.nspace();
  if (job.has_local()) {
    step.out.push_back(ForgetLocal{nspace});
    step.out.push_back(DropJob{nspace});
  }
  if (job.has_local()) NoteFinished(nspace, &finished_);
  const auto deferred = std::move(job.deferred);
  table_.Remove(nspace);
  jobs_.erase(nspace);
  for (const auto& [src, body] : deferred) {
    OnPeer(step.now, {src, self_, body}, &step.out);
  }
}

void JobEngine::MarkNodeEnded(const JobState& job, NodeId node) {
  const uint32_t index = job.layout->node_of_agent(node);
  if (index == kNoNode) return;
  for (const Rank rank : job.layout->ranks_on(index)) {
    table_.MarkEnded(job.nspace(), rank);
  }
}

void JobEngine::Reshape(StepContext& step, JobState& job) {
  std::vector<NodeId> before =
      std::exchange(job.children, JobChildren(tree_, self_, job));
  for (const NodeId child : job.children) {
    if (!std::ranges::binary_search(before, child)) {
      SyncChild(step, job, child);
    }
  }
  if (job.head) return;
  const NodeId parent = JobParent(tree_, self_, job.controller);
  // The old parent may have died with our answers in its hands.
  if (std::exchange(job.parent, parent) != parent) ResendAnswers(job);
  RecordLost(step, job);
  // And any on the way with output that it had not passed on yet.
  std::vector<NodeId> route = JobRoute(tree_, self_, job.controller);
  if (route == job.route) return;
  job.route = std::move(route);
  if (!job.has_local()) return;
  step.out.push_back(ResendOutput{job.nspace()});
  RequestInput(step, job);
}

void JobEngine::ResendAnswers(JobState& job) {
  job.prepare.sent_up = job.start.sent_up = false;
  job.exits_sent = 0;
}

void JobEngine::SyncChild(StepContext& step, JobState& job, NodeId child) {
  Send(step, child, PrepareFor(job));
  if (job.stage != LaunchStage::kPreparing) {
    Send(step, child, JobStart{job.nspace()});
  }
  if (job.kill) Send(step, child, *job.kill);
}

void JobEngine::OnControllerLost(StepContext& step, JobState& job,
                                 const std::string& reason) {
  Log(step, LogLine::Level::kError,
      "job " + job.nspace() + " lost the agent that controls it, " +
          node_names_[job.controller] + " (" + OneLine(reason) +
          "): ending what runs here");
  Forget(step, job);
}

}  // namespace canopy::core
