// Dispatch: what happens is brought to the job it concerns.
#include "server/core/job_engine.h"

#include <algorithm>
#include <utility>

#include "common/status.h"

namespace canopy::core {

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

bool JobEngine::OnPeer(TimeNs now, const PeerMessage& message,
                       Actions* actions) {
  Turn turn{now, *actions};
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
  if (job->head) {
    DeliverStream(turn, *job, in.rank, in.channel, in.data);
  } else if (tree_.alive(job->controller)) {
    Send(turn, job->controller,
         OutputData{in.nspace, in.rank, in.channel, in.data});
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
  std::vector<std::string> names;
  for (const auto& [nspace, job] : jobs_) names.push_back(nspace);
  for (const std::string& nspace : names) {
    JobState& job = *jobs_.at(nspace);
    MarkNodeEnded(job, node);
    if (node == job.controller) {
      Orphan(turn, job, reason);
      continue;
    }
    Reshape(turn, job, node);
    if (job.head) LoseRanks(turn, job, node, reason);
    Settle(turn, job);
  }
}

void JobEngine::On(Turn& turn, NodeId, const JobPrepare& m) {
  Result<JobSpec> spec = DecodeJobSpec(m.spec.view());
  if (!spec.ok()) {
    Log(turn, LogLine::Level::kError,
        "refused a job: " + spec.status().message());
    return;
  }
  if (JobState* known = Find(spec->nspace); known != nullptr) {
    // Asked again by a new parent: give the answers again.
    known->parent = tree_.parent(self_);
    known->prepare.sent_up = known->start.sent_up = false;
    Settle(turn, *known);
    return;
  }
  JobState& job =
      Add(turn, std::make_shared<const JobSpec>(std::move(*spec)), m.spec);
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
  if (job == nullptr) return Send(turn, src, JobForget{m.nspace});
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
  if (job == nullptr) return Send(turn, src, JobForget{m.nspace});
  if (!IsChild(*job, src)) return;
  Answer(*job, job->start, src, {m.procs_started, m.errors});
  Settle(turn, *job);
}

void JobEngine::On(Turn& turn, NodeId src, const JobExits& m) {
  JobState* job = Find(m.nspace);
  // A job that was over before its node could report: its end is known.
  if (job == nullptr) return Send(turn, src, JobForget{m.nspace});
  IsChild(*job, src);
  for (const ProcExit& exit : m.exits) RecordExit(turn, *job, exit);
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

void JobEngine::On(Turn& turn, NodeId, const JobForget& m) {
  JobState* job = Find(m.nspace);
  if (job != nullptr && !job->head) Forget(turn, *job);
}

void JobEngine::On(Turn& turn, NodeId, const OutputData& m) {
  if (JobState* job = FindControlled(m.nspace)) {
    DeliverStream(turn, *job, m.rank, m.channel, m.data);
  }
}

void JobEngine::On(Turn& turn, NodeId, const OutputCredit& m) {
  const JobState* job = Find(m.nspace);
  if (job != nullptr && job->has_local()) {
    turn.out.push_back(CreditOutput{m.nspace, m.bytes});
  }
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
