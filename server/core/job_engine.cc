// What other agents say is brought to the job that it concerns.
#include "server/core/job_engine.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "common/status.h"
#include "server/core/job_text.h"

namespace canopy::core {
namespace {

// Messages that are kept for one job.
constexpr size_t kMaxHeld = 65536;

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

void JobEngine::On(Turn& turn, NodeId src, const JobPrepared& m) {
  JobState* job = Find(m.nspace);
  if (job == nullptr || job->dropping) {
    return AskWhetherOver(turn, src, m.nspace);
  }
  if (!IsChild(*job, src)) return;
  Answer(*job, job->prepare, src, {m.nodes_ready, m.errors, m.notes});
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
  Answer(*job, job->start, src, {m.procs_started, m.errors, {}});
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
  if (m.all_told) {
    if (LastTold(src)) TryAgain(turn);
    return;
  }
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
  turn.out.push_back(FeedInput{m.nspace, std::move(ranks), m.data, m.end});
}

void JobEngine::On(Turn& turn, NodeId src, const InputCredit& m) {
  JobState* job = FindControlled(m.nspace);
  if (job == nullptr) return;
  const uint32_t node = job->layout->node_of_agent(src);
  if (node == kNoNode) return;
  TakeInput(turn, *job, node, m.bytes, m.total);
  if (m.resend) SendInputAgain(turn, *job, node, m.total);
}

void JobEngine::On(Turn& turn, NodeId, const AbortMessage& m) {
  OnAbort(turn.now, m, &turn.out);
}

}  // namespace canopy::core
