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

JobState& JobEngine::Add(Turn& turn, const std::shared_ptr<const JobSpec>& spec,
                         const JobPrepare& m) {
  auto job = std::make_unique<JobState>();
  // Whoever was lost, or has ended its ranks already, does not start them anew.
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
    if (!tree_.alive(node.agent) && !unheard_.contains(node.agent)) {
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
    turn.out.push_back(RegisterJob{job->spec, job->layout});
  }
  const auto askers = askers_.extract(spec->nspace);
  if (!askers.empty()) job->claimants = askers.mapped();
  JobState& added = *job;
  jobs_[added.nspace()] = std::move(job);
  for (const NodeId node : added.lost) MarkNodeEnded(added, node);
  RecordLost(turn, added);
  return added;
}

void JobEngine::AskToPrepare(Turn& turn, JobState& job) {
  for (const NodeId child : job.children) {
    Send(turn, child, PrepareFor(job));
  }
  if (job.has_local()) {
    turn.out.push_back(PrepareLocal{job.spec, job.layout, job.explain});
    KeepController(turn, job);
  }
}

JobPrepare JobEngine::PrepareFor(const JobState& job) {
  return {job.encoded,
          job.controller,
          {job.lost.begin(), job.lost.end()},
          job.explain};
}

void JobEngine::BeginStart(Turn& turn, JobState& job) {
  job.stage = LaunchStage::kStarting;
  KeepHead(turn, job);
  for (const NodeId child : job.children) {
    Send(turn, child, JobStart{job.nspace()});
  }
  if (job.has_local()) turn.out.push_back(StartLocal{job.nspace()});
}

void JobEngine::Settle(Turn& turn, JobState& job) {
  if (job.dropping) {
    if (!job.runs_here()) Drop(turn, job);
    return;
  }
  SettlePrepare(turn, job);
  SettleStart(turn, job);
  if (job.head) return SettleHead(turn, job);
  SendExitsUp(turn, job);
  // Every node of the job below this one is lost: it has no part any more.
  if (!job.has_local() && job.children.empty()) Drop(turn, job);
}

void JobEngine::SettlePrepare(Turn& turn, JobState& job) {
  if (!job.prepare.Complete(job.Asked(self_))) return;
  if (!job.head) {
    if (std::exchange(job.prepare.sent_up, true)) return;
    PhaseAnswer sum = job.prepare.Sum(job.Asked(self_));
    return Send(turn, job.parent,
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
    BeginStart(turn, job);
  }
}

void JobEngine::SettleStart(Turn& turn, JobState& job) {
  if (job.stage == LaunchStage::kPreparing) return;
  // An error does not wait for the others: the job ends because of it, and the
  // ends of its ranks must not be heard of before their cause.
  PhaseAnswer sum = job.start.Sum(job.Asked(self_));
  if (sum.errors.empty() && !job.start.Complete(job.Asked(self_))) return;
  job.stage = LaunchStage::kRunning;
  if (job.head || std::exchange(job.start.sent_up, true)) return;
  Send(turn, job.parent,
       JobStarted{job.nspace(), sum.count, std::move(sum.errors)});
}

void JobEngine::SendExitsUp(Turn& turn, JobState& job) {
  if (job.exits_sent == job.exits.size()) return;
  const auto first = job.exits.begin() + static_cast<long>(job.exits_sent);
  Send(turn, job.parent, JobExits{job.nspace(), {first, job.exits.end()}});
  job.exits_sent = job.exits.size();
}

void JobEngine::RecordExit(Turn& turn, JobState& job, const ProcExit& exit) {
  if (exit.rank >= job.exit_known.size() || job.exit_known[exit.rank]) return;
  job.exit_known[exit.rank] = true;
  job.exits.push_back(exit);
  table_.MarkEnded(job.nspace(), exit.rank);
  if (job.spec->procs[exit.rank].node == job.local_node) --job.local_left;
  if (!job.head) return;
  job.head->changed = true;
  if (auto failure = job.head->control.OnExit(exit)) {
    End(turn, job, std::move(*failure));
  }
}

void JobEngine::RecordNeverStarted(Turn& turn, JobState& job) {
  for (const Rank rank : job.layout->ranks_on(job.local_node)) {
    RecordExit(turn, job, ProcExit{rank, kNeverStarted, false, false, false});
  }
}

// The node has no part in the job any more, whoever found that out.
void JobEngine::LoseNode(Turn& turn, JobState& job, NodeId node,
                         const std::string& reason) {
  if (job.layout->node_of_agent(node) != kNoNode) job.lost.insert(node);
  MarkNodeEnded(job, node);
  job.prepare.Drop(node);
  job.start.Drop(node);
  Reshape(turn, job);
  if (job.head) LoseRanks(turn, job, node, reason);
}

// Tells the controller of the lost nodes below: it may see them as what they
// have become since, alive and without the job.
void JobEngine::RecordLost(Turn& turn, JobState& job) {
  if (job.head) return;
  for (const NodeId node : job.lost) {
    const uint32_t index = job.layout->node_of_agent(node);
    const bool above =
        node != self_ && tree_.NextHop(self_, node) == job.parent;
    if (index == kNoNode || above) continue;
    for (const Rank rank : job.layout->ranks_on(index)) {
      RecordExit(turn, job, ProcExit{rank, kLostWithNode, false, false, false});
    }
  }
}

void JobEngine::Signal(Turn& turn, JobState& job, const JobSignal& signal) {
  for (const NodeId child : ChildrenTowards(tree_, self_, job, signal.ranks)) {
    Send(turn, child, signal);
  }
  if (!job.runs_here()) return;
  std::vector<Rank> ranks = RanksOnNode(job, job.local_node, signal.ranks);
  if (ranks.empty()) return;
  if (signal.ranks.empty()) ranks.clear();
  turn.out.push_back(
      SignalLocal{job.nspace(), signal.signal, std::move(ranks)});
}

void JobEngine::Kill(Turn& turn, JobState& job, const JobKill& kill,
                     uint32_t grace_ms) {
  if (kill.ranks.empty()) job.kill = kill;
  for (const NodeId child : ChildrenTowards(tree_, self_, job, kill.ranks)) {
    Send(turn, child, kill);
  }
  if (!job.has_local() || job.stage == LaunchStage::kPreparing) return;
  std::vector<Rank> ranks = RanksOnNode(job, job.local_node, kill.ranks);
  if (ranks.empty()) return;
  if (kill.ranks.empty()) ranks.clear();
  turn.out.push_back(KillLocal{job.nspace(), std::move(ranks), grace_ms});
}

void JobEngine::TellToForget(Turn& turn, const JobState& job) {
  std::set<NodeId> below = job.claimants;
  below.insert(job.children.begin(), job.children.end());
  for (const NodeId agent : below) {
    if (tree_.alive(agent)) Send(turn, agent, JobForget{job.nspace()});
  }
}

void JobEngine::Forget(Turn& turn, JobState& job) {
  TellToForget(turn, job);
  EndHere(turn, job);
}

void JobEngine::EndHere(Turn& turn, JobState& job) {
  if (!job.runs_here()) return Drop(turn, job);
  if (std::exchange(job.dropping, true)) return;
  // Forgotten by a controller that does not know what still runs here.
  turn.out.push_back(
      KillLocal{job.nspace(), {}, job.spec->kill_grace_seconds * 1000});
}

void JobEngine::NoteFinished(const std::string& nspace,
                             std::deque<std::string>* jobs) {
  jobs->push_back(nspace);
  if (jobs->size() > kMaxFinished) jobs->pop_front();
}

void JobEngine::Drop(Turn& turn, JobState& job) {
  const std::string nspace = job.nspace();
  if (job.has_local()) {
    turn.out.push_back(ForgetLocal{nspace});
    turn.out.push_back(DropJob{nspace});
  }
  if (job.has_local()) NoteFinished(nspace, &finished_);
  const auto held = std::move(job.held);
  table_.Remove(nspace);
  jobs_.erase(nspace);
  for (const auto& [src, body] : held) {
    OnPeer(turn.now, {src, self_, body}, &turn.out);
  }
}

void JobEngine::MarkNodeEnded(const JobState& job, NodeId node) {
  const uint32_t index = job.layout->node_of_agent(node);
  if (index == kNoNode) return;
  for (const Rank rank : job.layout->ranks_on(index)) {
    table_.MarkEnded(job.nspace(), rank);
  }
}

void JobEngine::Reshape(Turn& turn, JobState& job) {
  std::vector<NodeId> before =
      std::exchange(job.children, JobChildren(tree_, self_, job));
  for (const NodeId child : job.children) {
    if (!std::ranges::binary_search(before, child)) {
      TellNewChild(turn, job, child);
    }
  }
  if (job.head) return;
  const NodeId parent = JobParent(tree_, self_, job.controller);
  // The old parent may have died with our answers in its hands.
  if (std::exchange(job.parent, parent) != parent) AnswerAgain(job);
  RecordLost(turn, job);
  // And any on the way with output that it had not passed on yet.
  std::vector<NodeId> route = JobRoute(tree_, self_, job.controller);
  if (route == job.route) return;
  job.route = std::move(route);
  if (!job.has_local()) return;
  turn.out.push_back(ResendOutput{job.nspace()});
  AskForInput(turn, job);
}

void JobEngine::AnswerAgain(JobState& job) {
  job.prepare.sent_up = job.start.sent_up = false;
  job.exits_sent = 0;
}

void JobEngine::TellNewChild(Turn& turn, JobState& job, NodeId child) {
  Send(turn, child, PrepareFor(job));
  if (job.stage != LaunchStage::kPreparing) {
    Send(turn, child, JobStart{job.nspace()});
  }
  if (job.kill) Send(turn, child, *job.kill);
}

void JobEngine::Orphan(Turn& turn, JobState& job, const std::string& reason) {
  Log(turn, LogLine::Level::kError,
      "job " + job.nspace() + " lost the agent that controls it, " +
          node_names_[job.controller] + " (" + OneLine(reason) +
          "): ending what runs here");
  Forget(turn, job);
}

}  // namespace canopy::core
