// Dispatches messages of other agents to the job that they concern.
#include "server/core/job_engine.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "common/status.h"
#include "server/core/job_text.h"

namespace canopy::core {
namespace {

// Deferred messages of one job.
constexpr size_t kMaxDeferred = 65536;

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

void JobEngine::Send(StepContext& step, NodeId to, MessageBody body) {
  step.out.push_back(SendPeer{{self_, to, std::move(body)}});
}

void JobEngine::Log(StepContext& step, LogLine::Level level, std::string text) {
  step.out.push_back(LogLine{level, std::move(text)});
}

// Defers messages for a part that this agent will take: until its previous part
// has ended, or until its view of the tree matches the sender's.
bool JobEngine::Defer(const PeerMessage& message) {
  return std::visit(
      [&](const auto& body) {
        using T = std::decay_t<decltype(body)>;
        if constexpr (IsOneOf<T, JobPrepared, JobStart, JobStarted, JobExits,
                              JobSignal, JobKill, JobForget>) {
          JobState* job = Find(body.nspace);
          const auto deferred_job = deferred_.find(body.nspace);
          DeferredMessages* deferred = nullptr;
          if (job != nullptr && !job->deferred.empty())
            deferred = &job->deferred;
          if constexpr (std::is_same_v<T, JobForget>) {
            if (deferred_.erase(body.nspace) > 0) return false;
          } else if (deferred_job != deferred_.end() &&
                     deferred_job->second.front().first == message.src) {
            deferred = &deferred_job->second;
          }
          if (deferred == nullptr) return false;
          if (deferred->size() < kMaxDeferred)
            deferred->emplace_back(message.src, body);
          return true;
        } else {
          return false;
        }
      },
      message.body);
}

bool JobEngine::OnPeer(TimeNs now, const PeerMessage& message,
                       Actions* actions) {
  StepContext step{now, *actions};
  if (Defer(message)) return true;
  return std::visit(
      [&](const auto& body) {
        if constexpr (requires { On(step, message.src, body); }) {
          On(step, message.src, body);
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

void JobEngine::On(StepContext& step, NodeId src, const JobPrepare& m) {
  Result<JobSpec> spec = DecodeJobSpec(m.spec.view());
  if (!spec.ok()) {
    Log(step, LogLine::Level::kError,
        "refused a job: " + spec.status().message());
    return;
  }
  if (JobState* known = Find(spec->nspace); known != nullptr) {
    if (known->dropping) {
      known->deferred.emplace_back(src, m);
      return;
    }
    if (m.controller != kNoNode && m.controller != known->controller) {
      if (known->head) return;
      known->controller = m.controller;
      known->route = JobRoute(tree_, self_, known->controller);
      known->children = JobChildren(tree_, self_, *known);
      PersistController(step, *known);
    }
    // Asked by a new parent: resend the answers.
    known->parent = JobParent(tree_, self_, known->controller);
    ResendAnswers(*known);
    Advance(step, *known);
    return;
  }
  if (std::ranges::count(ended_everywhere_, spec->nspace) > 0) return;
  if (DefersPrepare(src, m.controller)) {
    return DeferPrepare(step, src, spec->nspace, m);
  }
  deferred_.erase(spec->nspace);
  JobState& job =
      Add(step, std::make_shared<const JobSpec>(std::move(*spec)), m);
  AskToPrepare(step, job);
  Advance(step, job);
}

bool JobEngine::IsChild(JobState& job, NodeId src) {
  if (std::ranges::binary_search(job.children, src)) return true;
  job.provisional_children.insert(src);
  return false;
}

void JobEngine::On(StepContext& step, NodeId src, const JobPrepared& m) {
  JobState* job = Find(m.nspace);
  if (job == nullptr || job->dropping) {
    return QueryWhetherOver(step, src, m.nspace);
  }
  if (!IsChild(*job, src)) return;
  Answer(*job, job->prepare, src, {m.nodes_ready, m.errors, m.notes});
  Advance(step, *job);
}

void JobEngine::On(StepContext& step, NodeId, const JobStart& m) {
  JobState* job = Find(m.nspace);
  if (job == nullptr || job->stage != LaunchStage::kPreparing) return;
  BeginStart(step, *job);
  Advance(step, *job);
}

void JobEngine::On(StepContext& step, NodeId src, const JobStarted& m) {
  JobState* job = Find(m.nspace);
  if (job == nullptr || job->dropping) {
    return QueryWhetherOver(step, src, m.nspace);
  }
  if (!IsChild(*job, src)) return;
  Answer(*job, job->start, src, {m.procs_started, m.errors, {}});
  Advance(step, *job);
}

void JobEngine::On(StepContext& step, NodeId src, const JobExits& m) {
  JobState* job = Find(m.nspace);
  // A job that ended before its node could report it.
  if (job == nullptr || job->dropping) {
    return QueryWhetherOver(step, src, m.nspace);
  }
  IsChild(*job, src);
  // The controller would not ask if it had a record of the job.
  if (m.exits.empty() && src == job->controller) {
    return OnControllerLost(step, *job,
                            "it was restarted and has no record of it");
  }
  for (const ProcExit& exit : m.exits) {
    if (exit.rank >= job->spec->procs.size()) continue;
    if (exit.wait_status != kLostWithNode) {
      RecordExit(step, *job, exit);
      continue;
    }
    const NodeId node = table_.Find(m.nspace)->agent_of(exit.rank);
    if (!job->lost.contains(node)) MarkNodeLost(step, *job, node, "");
  }
  Advance(step, *job);
}

void JobEngine::On(StepContext& step, NodeId, const JobSignal& m) {
  if (JobState* job = Find(m.nspace)) Signal(step, *job, m);
}

void JobEngine::On(StepContext& step, NodeId, const JobKill& m) {
  JobState* job = Find(m.nspace);
  if (job != nullptr && !job->head) {
    Kill(step, *job, m, job->spec->kill_grace_seconds * 1000);
  }
}

bool JobEngine::MayEnd(const JobState& job, NodeId src) const {
  return src == tree_.root() || src == job.controller ||
         std::ranges::count(job.route, src) > 0;
}

void JobEngine::On(StepContext& step, NodeId src, const JobForget& m) {
  if (m.sync_complete) {
    if (MarkSynced(src)) ReleaseDeferred(step);
    return;
  }
  const auto inquirers = inquirers_.extract(m.nspace);
  if (!inquirers.empty()) {
    for (const NodeId agent : inquirers.mapped()) Send(step, agent, m);
  }
  JobState* job = Find(m.nspace);
  if (job == nullptr || job->head) return;
  if (!MayEnd(*job, src)) {
    // The parent is authoritative for it.
    if (job->parent != kNoNode) {
      Send(step, job->parent, JobExits{m.nspace, {}});
    }
    return;
  }
  NoteFinished(m.nspace, &ended_everywhere_);
  Forget(step, *job);
}

void JobEngine::On(StepContext& step, NodeId, const OutputData& m) {
  if (JobState* job = FindControlled(m.nspace)) {
    DeliverStream(step, *job, m);
  }
}

void JobEngine::On(StepContext& step, NodeId, const OutputCredit& m) {
  const JobState* job = Find(m.nspace);
  if (job == nullptr || !job->has_local()) return;
  step.out.push_back(CreditOutput{m.nspace, m.bytes, m.total});
  if (m.resend) step.out.push_back(ResendOutput{m.nspace});
}

void JobEngine::On(StepContext& step, NodeId, const InputData& m) {
  JobState* job = Find(m.nspace);
  if (job == nullptr) return;
  // Input for all ranks is forwarded down the tree; input for one was sent here
  // directly.
  if (m.ranks.empty()) {
    for (const NodeId child : job->children) Send(step, child, m);
  }
  if (!job->has_local()) return;
  std::vector<Rank> ranks = RanksOnNode(*job, job->local_node, m.ranks);
  if (ranks.empty()) return;
  step.out.push_back(FeedInput{m.nspace, std::move(ranks), m.data, m.end});
}

void JobEngine::On(StepContext& step, NodeId src, const InputCredit& m) {
  JobState* job = FindControlled(m.nspace);
  if (job == nullptr) return;
  const uint32_t node = job->layout->node_of_agent(src);
  if (node == kNoNode) return;
  TakeInput(step, *job, node, m.bytes, m.total);
  if (m.resend) ResendInput(step, *job, node, m.total);
}

void JobEngine::On(StepContext& step, NodeId, const AbortMessage& m) {
  OnAbort(step.now, m, &step.out);
}

}  // namespace canopy::core
