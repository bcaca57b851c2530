// Dispatch: what happens is brought to the job it concerns.
#include "server/core/job_engine.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "common/status.h"
#include "server/core/job_text.h"

namespace canopy::core {
namespace {

constexpr size_t kMaxHeld = 65536;
// Jobs that others report of and this agent does not know, at a time.
constexpr size_t kMaxAskers = 4096;

template <typename T, typename... Ts>
constexpr bool IsOneOf = (std::is_same_v<T, Ts> || ...);

}  // namespace

JobEngine::JobEngine(NodeId self, std::vector<std::string> node_names,
                     const Tree& tree, JobTable& table)
    : self_(self),
      node_names_(std::move(node_names)),
      tree_(tree),
      table_(table) {}

JobState* JobEngine::Find(const std::string& nspace) {
  const auto it = jobs_.find(nspace);
  return it == jobs_.end() ? nullptr : it->second.get();
}

NodeId JobEngine::ControllerOf(const std::string& nspace) const {
  const auto it = jobs_.find(nspace);
  return it == jobs_.end() ? tree_.root() : it->second->controller;
}

JobState* JobEngine::FindControlled(const std::string& nspace) {
  JobState* job = Find(nspace);
  return job != nullptr && job->head ? job : nullptr;
}

void JobEngine::Send(Turn& turn, NodeId to, MessageBody body) {
  turn.out.push_back(SendPeer{{self_, to, std::move(body)}});
}

void JobEngine::Log(Turn& turn, LogLine::Level level, std::string text) {
  turn.out.push_back(LogLine{level, std::move(text)});
}

// Messages for the part that this agent will have: once what it had is over, or
// once it sees the tree as the sender does.
bool JobEngine::Hold(const PeerMessage& message) {
  return std::visit(
      [&](const auto& body) {
        using T = std::decay_t<decltype(body)>;
        if constexpr (IsOneOf<T, JobPrepared, JobStart, JobStarted, JobExits,
                              JobSignal, JobKill, JobForget>) {
          JobState* job = Find(body.nspace);
          const auto early = early_.find(body.nspace);
          HeldMessages* held = nullptr;
          if (job != nullptr && !job->held.empty()) held = &job->held;
          if constexpr (std::is_same_v<T, JobForget>) {
            if (early_.erase(body.nspace) > 0) return false;
          } else if (early != early_.end() &&
                     early->second.front().first == message.src) {
            held = &early->second;
          }
          if (held == nullptr) return false;
          if (held->size() < kMaxHeld) held->emplace_back(message.src, body);
          return true;
        } else {
          return false;
        }
      },
      message.body);
}

// A part in a job comes from the one above. Where that is somebody else as
// this agent sees it, one of the two does not know yet who is there.
bool JobEngine::KeepsForLater(NodeId src, NodeId controller) const {
  if (controller == kNoNode) controller = tree_.root();
  return JobParent(tree_, self_, controller) != src;
}

void JobEngine::KeepForLater(Turn& turn, NodeId src, const std::string& nspace,
                             const JobPrepare& m) {
  if (early_.size() >= kMaxHeld && !early_.contains(nspace)) return;
  early_[nspace] = {{src, m}};
  // So that it tells of the job's end, even if it never is above this one.
  Send(turn, src, JobExits{nspace, {}});
}

std::vector<PeerMessage> JobEngine::TakeKept() {
  return std::exchange(again_, {});
}

bool JobEngine::SpeaksForAll() const {
  if (self_ != tree_.root() || (recovered_ && !unheard_.empty())) return false;
  return unheard_.empty() || *unheard_.begin() > self_;
}

void JobEngine::TryAgain(Turn& turn) {
  for (auto& [nspace, agents] : askers_) {
    std::erase_if(agents, [&](NodeId n) { return !tree_.alive(n); });
    if (self_ != tree_.root()) {
      Send(turn, tree_.root(), JobExits{nspace, {}});
      continue;
    }
    if (!SpeaksForAll()) continue;
    for (const NodeId agent : agents) Send(turn, agent, JobForget{nspace});
    agents.clear();
  }
  std::erase_if(askers_, [](const auto& item) { return item.second.empty(); });
  for (auto& [nspace, held] : std::exchange(early_, {})) {
    for (auto& [src, body] : held) {
      if (tree_.alive(src)) again_.push_back({src, self_, std::move(body)});
    }
  }
}

bool JobEngine::OnPeer(TimeNs now, const PeerMessage& message,
                       Actions* actions) {
  Turn turn{now, *actions};
  if (Hold(message)) return true;
  return std::visit(
      [&](const auto& body) {
        if constexpr (requires { On(turn, message.src, body); }) {
          On(turn, message.src, body);
          return true;
        } else {
          return false;
        }
      },
      message.body);
}

void JobEngine::Answer(JobState& job, LaunchPhase& phase, NodeId from,
                       PhaseAnswer answer) {
  phase.Answer(from, std::move(answer));
  if (job.head) job.head->changed = true;
}

void JobEngine::OnLocalPrepared(TimeNs now, const LocalPrepared& in,
                                Actions* actions) {
  Turn turn{now, *actions};
  JobState* job = Find(in.nspace);
  if (job == nullptr || !job->has_local()) return;
  PhaseAnswer answer;
  if (in.status == kSuccess) {
    answer.count = 1;
  } else {
    answer.errors.push_back({self_, in.status, in.text});
  }
  Answer(*job, job->prepare, self_, std::move(answer));
  Settle(turn, *job);
}

void JobEngine::OnLocalStarted(TimeNs now, const LocalStarted& in,
                               Actions* actions) {
  Turn turn{now, *actions};
  JobState* job = Find(in.nspace);
  if (job == nullptr || !job->has_local()) return;
  PhaseAnswer answer;
  answer.count = in.procs;
  if (in.status != kSuccess) {
    answer.errors.push_back({self_, in.status, in.text});
    if (in.procs == 0) RecordNeverStarted(turn, *job);
  }
  Answer(*job, job->start, self_, std::move(answer));
  // Told while the processes were being made: again, for the late ones.
  if (job->kill && job->local_left > 0) {
    turn.out.push_back(
        KillLocal{in.nspace, {}, job->spec->kill_grace_seconds * 1000});
  }
  Settle(turn, *job);
}

void JobEngine::OnLocalExits(TimeNs now, const LocalExits& in,
                             Actions* actions) {
  Turn turn{now, *actions};
  JobState* job = Find(in.nspace);
  if (job == nullptr) return;
  const Job* entry = table_.Find(in.nspace);
  for (ProcExit exit : in.exits) {
    if (entry == nullptr || !entry->is_local(exit.rank)) continue;
    const RankState& rank = entry->ranks[exit.rank];
    exit.called_init |= rank.called_init;
    exit.finalized |= rank.finalized;
    RecordExit(turn, *job, exit);
  }
  Settle(turn, *job);
}

void JobEngine::OnLocalOutput(TimeNs now, const LocalOutput& in,
                              Actions* actions) {
  Turn turn{now, *actions};
  JobState* job = Find(in.nspace);
  if (job == nullptr) return;
  OutputData output{in.nspace, in.rank, in.channel, in.data, in.end};
  if (job->head) {
    DeliverStream(turn, *job, output);
  } else if (tree_.alive(job->controller)) {
    Send(turn, job->controller, std::move(output));
  } else if (!in.data.empty()) {
    // Nobody is left to read it: let the process go on to its end.
    turn.out.push_back(CreditOutput{in.nspace, in.data.size()});
  }
}

void JobEngine::OnLocalInputDone(TimeNs now, const LocalInputDone& in,
                                 Actions* actions) {
  Turn turn{now, *actions};
  JobState* job = Find(in.nspace);
  if (job == nullptr || !job->has_local()) return;
  if (job->head) {
    TakeInput(turn, *job, job->local_node, in.bytes);
  } else if (tree_.alive(job->controller)) {
    Send(turn, job->controller, InputCredit{in.nspace, in.bytes});
  }
}

void JobEngine::OnNodeLost(TimeNs now, NodeId node, const std::string& reason,
                           Actions* actions) {
  Turn turn{now, *actions};
  if (tree_.root() == self_ && tree_.children(self_).empty()) {
    for (NodeId n = 0; n < tree_.size(); ++n) {
      if (n != self_) unheard_.insert(n);
    }
    hearing_until_ = kNever;
    // What was over on this side may go on where the controller is.
    over_.clear();
  }
  std::vector<std::string> names;
  for (const auto& [nspace, job] : jobs_) names.push_back(nspace);
  for (const std::string& nspace : names) {
    JobState& job = *jobs_.at(nspace);
    MarkNodeEnded(job, node);
    if (job.dropping) continue;
    if (node == job.controller) {
      Orphan(turn, job, reason);
      continue;
    }
    LoseNode(turn, job, node, reason);
    Settle(turn, job);
  }
  TryAgain(turn);
}

// It may be on the way between others.
void JobEngine::OnNodeReturned(TimeNs now, Actions* actions) {
  Turn turn{now, *actions};
  std::erase_if(unheard_, [&](NodeId n) { return tree_.alive(n); });
  hearing_until_ = unheard_.empty() ? kNever : now + kHearing;
  std::vector<std::string> names;
  for (const auto& [nspace, job] : jobs_) names.push_back(nspace);
  for (const std::string& nspace : names) {
    JobState& job = *jobs_.at(nspace);
    if (job.dropping) continue;
    Reshape(turn, job);
    Settle(turn, job);
  }
  TryAgain(turn);
}

void JobEngine::On(Turn& turn, NodeId src, const JobPrepare& m) {
  Result<JobSpec> spec = DecodeJobSpec(m.spec.view());
  if (!spec.ok()) {
    Log(turn, LogLine::Level::kError,
        "refused a job: " + spec.status().message());
    return;
  }
  if (JobState* known = Find(spec->nspace); known != nullptr) {
    if (known->dropping) {
      known->held.emplace_back(src, m);
      return;
    }
    if (m.controller != kNoNode && m.controller != known->controller) {
      if (known->head) return;
      known->controller = m.controller;
      known->route = JobRoute(tree_, self_, known->controller);
      known->children = JobChildren(tree_, self_, *known);
      KeepController(turn, *known);
    }
    // Asked again by a new parent: give the answers again.
    known->parent = JobParent(tree_, self_, known->controller);
    AnswerAgain(*known);
    Settle(turn, *known);
    return;
  }
  if (std::ranges::count(over_, spec->nspace) > 0) return;
  if (KeepsForLater(src, m.controller)) {
    return KeepForLater(turn, src, spec->nspace, m);
  }
  early_.erase(spec->nspace);
  JobState& job =
      Add(turn, std::make_shared<const JobSpec>(std::move(*spec)), m);
  AskToPrepare(turn, job);
  Settle(turn, job);
}

bool JobEngine::IsChild(JobState& job, NodeId src) {
  if (std::ranges::binary_search(job.children, src)) return true;
  job.claimants.insert(src);
  return false;
}

// Only the controller knows that a job is over; another agent may merely not
// have heard of it yet.
void JobEngine::AskWhetherOver(Turn& turn, NodeId src,
                               const std::string& nspace) {
  if (SpeaksForAll() || std::ranges::count(over_, nspace) > 0) {
    return Send(turn, src, JobForget{nspace});
  }
  if (askers_.size() >= kMaxAskers && !askers_.contains(nspace)) return;
  if (askers_[nspace].insert(src).second && self_ != tree_.root()) {
    Send(turn, tree_.root(), JobExits{nspace, {}});
  }
}

void JobEngine::On(Turn& turn, NodeId src, const JobPrepared& m) {
  JobState* job = Find(m.nspace);
  if (job == nullptr || job->dropping) {
    return AskWhetherOver(turn, src, m.nspace);
  }
  if (!IsChild(*job, src)) return;
  Answer(*job, job->prepare, src, {m.nodes_ready, m.errors});
  Settle(turn, *job);
}

void JobEngine::On(Turn& turn, NodeId, const JobStart& m) {
  JobState* job = Find(m.nspace);
  if (job == nullptr || job->stage != LaunchStage::kPreparing) return;
  BeginStart(turn, *job);
  Settle(turn, *job);
}

void JobEngine::On(Turn& turn, NodeId src, const JobStarted& m) {
  JobState* job = Find(m.nspace);
  if (job == nullptr || job->dropping) {
    return AskWhetherOver(turn, src, m.nspace);
  }
  if (!IsChild(*job, src)) return;
  Answer(*job, job->start, src, {m.procs_started, m.errors});
  Settle(turn, *job);
}

void JobEngine::On(Turn& turn, NodeId src, const JobExits& m) {
  JobState* job = Find(m.nspace);
  // A job that was over before its node could report: its end is known.
  if (job == nullptr || job->dropping) {
    return AskWhetherOver(turn, src, m.nspace);
  }
  IsChild(*job, src);
  // It would not ask if it knew.
  if (m.exits.empty() && src == job->controller) {
    return Orphan(turn, *job, "it was restarted and has no record of it");
  }
  for (const ProcExit& exit : m.exits) {
    if (exit.rank >= job->spec->procs.size()) continue;
    if (exit.wait_status != kLostWithNode) {
      RecordExit(turn, *job, exit);
      continue;
    }
    const NodeId node = table_.Find(m.nspace)->agent_of(exit.rank);
    if (!job->lost.contains(node)) LoseNode(turn, *job, node, "");
  }
  Settle(turn, *job);
}

void JobEngine::On(Turn& turn, NodeId, const JobSignal& m) {
  if (JobState* job = Find(m.nspace)) Signal(turn, *job, m);
}

void JobEngine::On(Turn& turn, NodeId, const JobKill& m) {
  JobState* job = Find(m.nspace);
  if (job != nullptr && !job->head) {
    Kill(turn, *job, m, job->spec->kill_grace_seconds * 1000);
  }
}

bool JobEngine::MayEnd(const JobState& job, NodeId src) const {
  return src == tree_.root() || src == job.controller ||
         std::ranges::count(job.route, src) > 0;
}

void JobEngine::On(Turn& turn, NodeId src, const JobForget& m) {
  const auto askers = askers_.extract(m.nspace);
  if (!askers.empty()) {
    for (const NodeId agent : askers.mapped()) Send(turn, agent, m);
  }
  JobState* job = Find(m.nspace);
  if (job == nullptr || job->head) return;
  if (!MayEnd(*job, src)) {
    // The one above knows whether it is so.
    if (job->parent != kNoNode) {
      Send(turn, job->parent, JobExits{m.nspace, {}});
    }
    return;
  }
  NoteFinished(m.nspace, &over_);
  Forget(turn, *job);
}

void JobEngine::On(Turn& turn, NodeId, const OutputData& m) {
  if (JobState* job = FindControlled(m.nspace)) {
    DeliverStream(turn, *job, m);
  }
}

void JobEngine::On(Turn& turn, NodeId, const OutputCredit& m) {
  const JobState* job = Find(m.nspace);
  if (job == nullptr || !job->has_local()) return;
  turn.out.push_back(CreditOutput{m.nspace, m.bytes, m.total});
  if (m.resend) turn.out.push_back(ResendOutput{m.nspace});
}

void JobEngine::On(Turn& turn, NodeId, const InputData& m) {
  JobState* job = Find(m.nspace);
  if (job == nullptr) return;
  // To all ranks it goes down the tree; to one it came straight here.
  if (m.ranks.empty()) {
    for (const NodeId child : job->children) Send(turn, child, m);
  }
  if (!job->has_local()) return;
  std::vector<Rank> ranks = RanksOnNode(*job, job->local_node, m.ranks);
  if (ranks.empty()) return;
  turn.out.push_back(FeedInput{m.nspace, std::move(ranks), m.data});
}

void JobEngine::On(Turn& turn, NodeId src, const InputCredit& m) {
  JobState* job = FindControlled(m.nspace);
  if (job == nullptr) return;
  const uint32_t node = job->layout->node_of_agent(src);
  if (node != kNoNode) TakeInput(turn, *job, node, m.bytes);
}

void JobEngine::On(Turn& turn, NodeId, const AbortMessage& m) {
  OnAbort(turn.now, m, &turn.out);
}

}  // namespace canopy::core
