#include "server/core/job/messages.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/status.h"
#include "server/core/job/text.h"

namespace canopy::core {
namespace {

// Maximum number of messages deferred for the next part in one job.
constexpr size_t kMaxDeferred = 65536;

}  // namespace

bool JobMessages::Take(const JobStep& step, const PeerMessage& message) {
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

// Defers a message for a part that this agent will have: until the previous
// part of the job has ended, or until this agent's view of the tree matches the
// sender's.
bool JobMessages::Defer(const PeerMessage& message) {
  const std::string* nspace = DeferrableNspace(message.body);
  if (nspace == nullptr) return false;
  JobEntry* job = jobs_.Find(*nspace);
  if (job == nullptr || job->deferred.empty()) return resync_.Defer(message);
  if (job->deferred.size() < kMaxDeferred) {
    job->deferred.emplace_back(message.src, message.body);
  }
  return true;
}

JobEntry* JobMessages::FindReported(const JobStep& step, NodeId src,
                                    const std::string& nspace) {
  JobEntry* job = jobs_.Find(nspace);
  if (job != nullptr && !job->releasing()) return job;
  // The job may have ended before `src` could report about it.
  resync_.OnUnknown(step, src, nspace);
  return nullptr;
}

// ---------------------------------------------------------------- launch ---

void JobMessages::On(const JobStep& step, NodeId src, const JobPrepare& m) {
  Result<JobSpec> spec = DecodeJobSpec(m.spec.view());
  if (!spec.ok()) {
    return step.Log(LogLine::Level::kError,
                    "refused a job: " + spec.status().message());
  }
  if (m.controller >= step.tree.size()) {
    return step.Log(LogLine::Level::kError,
                    "refused job " + OneLine(spec->nspace) +
                        ": the agent that controls it is no member");
  }
  if (JobEntry* known = jobs_.Find(spec->nspace)) {
    return PrepareAgain(step, src, *known, m);
  }
  if (resync_.HasEnded(spec->nspace)) return;
  if (resync_.DefersPrepare(src, m.controller)) {
    return resync_.DeferPrepare(step, src, spec->nspace, m);
  }
  resync_.Undefer(spec->nspace);
  jobs_.TakePart(step, std::make_shared<const JobSpec>(std::move(*spec)), m);
}

// Handles a JobPrepare of a new parent, or of a parent that has lost the
// answers.
void JobMessages::PrepareAgain(const JobStep& step, NodeId src, JobEntry& job,
                               const JobPrepare& m) {
  if (job.releasing()) {
    job.deferred.emplace_back(src, m);
    return;
  }
  const bool other = m.controller != job.part.place().controller();
  if (other && (job.head || m.controller == step.self)) return;
  job.part.OnPreparedAgain(step, m.controller);
  jobs_.Advance(step, job);
}

void JobMessages::On(const JobStep& step, NodeId src, const JobPrepared& m) {
  JobEntry* job = FindReported(step, src, m.nspace);
  if (job == nullptr || !job->part.place().AddReporter(src)) return;
  job->part.answers().AnswerPrepare(src,
                                    {m.nodes_ready, m.errors, m.notes, m.port});
  if (job->head) job->head->OnAnswer();
  jobs_.Advance(step, *job);
}

void JobMessages::On(const JobStep& step, NodeId, const JobStart& m) {
  JobEntry* job = jobs_.Find(m.nspace);
  if (job == nullptr || job->part.state() != JobPartState::kPreparing) return;
  job->part.Start(step, m.port);
  jobs_.Advance(step, *job);
}

void JobMessages::On(const JobStep& step, NodeId src, const JobStarted& m) {
  JobEntry* job = FindReported(step, src, m.nspace);
  if (job == nullptr || !job->part.place().AddReporter(src)) return;
  job->part.answers().AnswerStart(src, {m.procs_started, m.errors, {}});
  if (job->head) job->head->OnAnswer();
  jobs_.Advance(step, *job);
}

// ------------------------------------------------------------------ ends ---

void JobMessages::On(const JobStep& step, NodeId src, const JobExits& m) {
  JobEntry* job = FindReported(step, src, m.nspace);
  if (job == nullptr) return;
  job->part.place().AddReporter(src);
  for (const ProcExit& exit : m.exits) jobs_.RecordExit(step, *job, exit);
  jobs_.Advance(step, *job);
}

void JobMessages::On(const JobStep& step, NodeId src, const NodeLost& m) {
  JobEntry* job = FindReported(step, src, m.nspace);
  if (job == nullptr) return;
  JobPlace& place = job->part.place();
  place.AddReporter(src);
  const JobSpec& spec = *job->part.spec();
  for (const Rank rank : m.ranks) {
    if (rank >= spec.procs.size()) continue;
    const NodeId node = spec.nodes[spec.procs[rank].node].agent;
    if (!place.lost().contains(node)) jobs_.OnNodeLost(step, *job, node, "");
  }
  jobs_.Advance(step, *job);
}

void JobMessages::On(const JobStep& step, NodeId, const JobSignal& m) {
  if (const JobEntry* job = jobs_.Find(m.nspace)) job->part.Signal(step, m);
}

void JobMessages::On(const JobStep& step, NodeId, const JobKill& m) {
  JobEntry* job = jobs_.Find(m.nspace);
  if (job != nullptr && !job->head) job->part.Kill(step, m);
}

void JobMessages::On(const JobStep& step, NodeId src, const JobForget& m) {
  OnOver(step, src, {m.nspace, JobVerdict::kEnded});
}

void JobMessages::On(const JobStep& step, NodeId src, const JobQueryReply& m) {
  OnOver(step, src, m);
}

void JobMessages::OnOver(const JobStep& step, NodeId src,
                         const JobQueryReply& m) {
  resync_.AnswerInquirers(step, m);
  JobEntry* job = jobs_.Find(m.nspace);
  if (job == nullptr || job->head) return;
  const JobPlace& place = job->part.place();
  if (!place.MayEnd(src)) {
    // `src` may not end the job at this agent, so the parent is queried.
    if (place.parent() != kNoNode) {
      step.Send(place.parent(), JobQuery{m.nspace});
    }
    return;
  }
  resync_.MarkEnded(m.nspace);
  jobs_.Release(step, *job);
}

// The sender becomes a provisional child and gets the job's end.
void JobMessages::On(const JobStep& step, NodeId src, const JobQuery& m) {
  JobEntry* job = FindReported(step, src, m.nspace);
  if (job == nullptr) return;
  JobPlace& place = job->part.place();
  place.AddReporter(src);
  // The controller would not query if it had a record of the job.
  if (src == place.controller()) {
    jobs_.OnControllerLost(step, *job,
                           "it was restarted and has no record of it");
  }
}

void JobMessages::On(const JobStep& step, NodeId src, const SyncComplete&) {
  resync_.OnSyncComplete(step, src);
}

void JobMessages::On(const JobStep& step, NodeId src, const RankRestarted& m) {
  if (JobEntry* job = jobs_.Find(m.nspace)) {
    job->part.OnRankRestarted(step, src, m);
  }
}

// --------------------------------------------------------------- streams ---

void JobMessages::On(const JobStep& step, NodeId, const OutputData& m) {
  JobEntry* job = jobs_.FindControlled(m.nspace);
  if (job != nullptr && job->head->OnOutput(step, m)) jobs_.Finish(step, *job);
}

void JobMessages::On(const JobStep& step, NodeId, const OutputCredit& m) {
  JobEntry* job = jobs_.Find(m.nspace);
  if (job != nullptr) job->part.streams().OnOutputCredit(step, m);
}

void JobMessages::On(const JobStep& step, NodeId, const InputData& m) {
  JobEntry* job = jobs_.Find(m.nspace);
  if (job != nullptr) job->part.streams().OnInput(step, m);
}

void JobMessages::On(const JobStep& step, NodeId src, const InputCredit& m) {
  JobEntry* job = jobs_.FindControlled(m.nspace);
  if (job == nullptr) return;
  const uint32_t node = job->part.layout()->node_of_agent(src);
  if (node != kNoNode) job->head->streams().OnInputTaken(step, node, m);
}

// ---------------------------------------------------------------- aborts ---

void JobMessages::Abort(const JobStep& step, const AbortMessage& m) {
  std::map<std::string, std::vector<Rank>> wanted;  // empty ranks: all
  if (m.targets.empty()) wanted[m.source.nspace] = {};
  for (const ProcId& target : m.targets) {
    wanted[target.nspace].push_back(target.rank);
  }
  for (auto& [nspace, ranks] : wanted) {
    JobEntry* job = jobs_.FindControlled(nspace);
    if (job == nullptr) continue;
    const size_t size = job->part.spec()->procs.size();
    const bool everyone =
        m.targets.empty() || std::ranges::count(ranks, kRankWildcard) > 0;
    std::erase_if(ranks, [size](Rank rank) { return rank >= size; });
    if (everyone) ranks.clear();
    if (ranks.empty() && !everyone) continue;
    if (job->head->Abort(step, m, ranks)) jobs_.Finish(step, *job);
  }
}

}  // namespace canopy::core
