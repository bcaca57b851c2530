// The checks of a run when it is quiet, and at its end.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "common/status.h"
#include "server/core/why.h"
#include "tests/sim/soak_run.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

void Soak::CheckWhy(const PlannedJob& job) {
  const size_t before = cluster_.observed().states().size();
  cluster_.Input(cluster_.members().root(),
                 StateRequested{1, "why", job.spec.nspace});
  cluster_.Run();
  std::vector<StateAnswer> answers;
  for (size_t i = before; i < cluster_.observed().states().size(); ++i) {
    if (cluster_.observed().states()[i].done) continue;
    auto answer =
        DecodeStateAnswer(cluster_.observed().states()[i].answer.view());
    if (!answer.ok()) return Error("unreadable state");
    answers.push_back(std::move(*answer));
  }
  const std::vector<Waiting> all = MergeWaiting(answers);
  for (const auto& [proc, actor] : actors_) {
    if (actor.job != &job || actor.waiting == 0) continue;
    // An operation that spans jobs is described under the first of them.
    if (!job.partners.empty()) continue;
    const bool named = std::ranges::any_of(all, [&](const Waiting& waiting) {
      return waiting.nspace == job.spec.nspace && waiting.callers > 0 &&
             (!waiting.missing.empty() || waiting.more_missing > 0);
    });
    if (!named) {
      Error("why does not tell for whom " + ToString(proc) + " waits in " +
            actor.operation);
    }
    return;
  }
}

// Called when the cluster is quiet. Every process that waits must then wait for
// a stopped process.
void Soak::CheckQuiet() {
  for (const auto& [proc, actor] : actors_) {
    const bool waits_for_others =
        std::ranges::any_of(actor.job->partners, &PlannedJob::stopped);
    if (actor.job->stopped || waits_for_others) continue;
    Error(ToString(proc) + " waits for ever in " +
          (actor.waiting != 0       ? actor.operation
           : !actor.awaited.empty() ? "events"
           : actor.goes_on          ? "step " + std::to_string(actor.step) +
                                 " of an invitation or a set"
           : AwaitsInput(proc, actor) ? "its input"
                                      : "nothing"));
  }
  for (const auto& job : jobs_) {
    if (job->stopped) CheckWhy(*job);
  }
}

void Soak::KillStopped() {
  for (const auto& job : jobs_) {
    if (!job->stopped) continue;
    cluster_.Input(cluster_.members().root(),
                   KillRequested{job->spec.nspace, 0, ""});
  }
  // A job whose controller is lost needs no KillRequested, because the agents
  // have ended it already.
  RunToQuiet();
  for (const auto& [proc, actor] : actors_) {
    Error(ToString(proc) + " is left although its job was to be ended");
  }
}

void Soak::CheckEnd() {
  // Output that was to be forwarded by an agent that is gone is resent only if
  // agents persist; otherwise the stand-in of shims keeps none.
  const bool may_lose_output =
      any_fault_ || (num_removed_ > 0 && !options_.restarts);
  std::map<std::string, std::vector<JobChanged>> ends;
  for (const JobChanged& change : cluster_.launchers().job_changes()) {
    if (change.phase == JobPhase::kEnded) ends[change.nspace].push_back(change);
  }
  for (const auto& job : jobs_) {
    const std::string& nspace = job->spec.nspace;
    const auto& end = ends[nspace];
    if (end.size() > 1) Error(nspace + " ended twice");
    if (end.empty()) {
      if (!job->harmed) Error(nspace + " never ended");
      continue;
    }
    if (end[0].status != kSuccess && end[0].text.empty()) {
      Error(nspace + " ended badly without a reason");
    }
    if (IsHarmed(*job)) continue;
    CheckNames(*job);
    if (end[0].status != kSuccess) {
      Error(nspace + " ended with " + std::to_string(end[0].status) + " (" +
            end[0].text + ") although nothing has happened to it");
    }
    for (Rank r = 0; !may_lose_output && r < job->spec.procs.size(); ++r) {
      if (cluster_.launchers().delivered({nspace, r}) != 4 * lines_) {
        Error("output of " + nspace + ":" + std::to_string(r) + " is lost");
      }
    }
  }
  CheckSignals();
  CheckControls();
  for (const auto& [name, group] : groups_) {
    CheckOneDecision("construct of " + name, group.constructed);
    CheckOneDecision("destruct of " + name, group.ended);
  }
  for (const std::string& left : cluster_.Leftovers()) Error(left);
  for (const std::string& error : cluster_.errors()) Error(error);
}

// Returns whether no process of the job is left.
bool Soak::IsOver(const PlannedJob& job) const {
  return job.launched && std::ranges::none_of(actors_, [&](const auto& actor) {
           return actor.second.job == &job;
         });
}

// Returns the statuses that the answer may have if nothing has happened to the
// job.
std::set<int> Soak::ExpectedOf(const Actor& actor) const {
  const std::string& operation = actor.operation;
  if (operation == "abort") return StatusesOfAbort(actor);
  if (operation == kForeignGet) return StatusesOfForeignGet(actor);
  if (operation == "control") return StatusesOfControl(actor);
  std::set<int> out = actor.expected;
  // A node on which the spawn has to start processes may be lost.
  if (any_fault_ && operation == "spawn") out.insert(kErrJobFailedToLaunch);
  // The job of another participant may have ended after its release, and this
  // process's agent may have dropped that job before it received the release.
  const bool dissolved =
      (operation.starts_with("disconnect") || operation.starts_with("group")) &&
      std::ranges::any_of(actor.job->partners,
                          [&](const PlannedJob* job) { return IsOver(*job); });
  if (dissolved) out.insert({kErrJobTerminated, kErrNotFound});
  return out;
}

// Returns the statuses that a get from another job may have. That job may not
// have begun, may be over, or may end meanwhile. Its process may leave without
// the key, or commit the key too late. If the jobs belong to different users,
// the agent refuses the get once it knows both jobs.
std::set<int> Soak::StatusesOfForeignGet(const Actor& actor) const {
  std::set<int> out = {kErrNotFound, kErrTimeout};
  const PlannedJob& target =
      **std::ranges::find_if(jobs_, [&](const auto& job) {
        return job->spec.nspace == actor.targets.front().nspace;
      });
  const bool theirs = target.spec.uid != actor.job->spec.uid;
  if (theirs) out.insert(kErrNoPermissions);
  if (!theirs || std::ranges::count(actor.job->partners, &target) > 0) {
    out.insert(kSuccess);
  }
  if (IsOver(target) || any_fault_) out.insert(kErrJobTerminated);
  if (any_fault_) out.insert(kErrUnreach);
  return out;
}

// Returns the statuses that an abort may have. One target that cannot be
// aborted is enough for an error.
std::set<int> Soak::StatusesOfAbort(const Actor& actor) const {
  std::set<int> out;
  bool may_succeed = true;
  for (const auto& job : jobs_) {
    const std::string& nspace = job->spec.nspace;
    if (std::ranges::count(actor.targets, nspace, &ProcId::nspace) == 0) {
      continue;
    }
    const bool foreign = job->spec.uid != actor.job->spec.uid;
    const bool gone = !job->launched || IsOver(*job);
    if (foreign) out.insert(kErrParamValueNotSupported);
    // A successor does not know jobs that ended before it began.
    if (!job->launched || (gone && (foreign || options_.restarts))) {
      out.insert(kErrNotFound);
    }
    may_succeed &= job->launched && (!foreign || gone);
    // Jobs that were controlled by a lost agent are ended and dropped.
    if (any_fault_ && foreign) out.insert({kSuccess, kErrNotFound});
  }
  if (may_succeed) out.insert(kSuccess);
  return out;
}

// Checks an answer that has just arrived.
void Soak::CheckAnswer(const ProcId& proc, Actor& actor, RequestId request) {
  const Answer& answer = *cluster_.clients().AnswerTo(request);
  if (actor.operation.starts_with("group")) CheckConstruct(proc, actor, answer);
  if (actor.operation == "control") CheckControl(proc, actor, answer.status);
  if (actor.operation == "table") CheckTable(actor, answer);
  CheckSet(proc, actor, answer);
  if (answer.status != kSuccess) return;
  if (actor.operation == "spawn") {
    const auto& jobs = cluster_.spawn_host().JobsOf(proc, request);
    if (std::ranges::count(jobs, answer.payload) == 0) {
      Error("invented: " + answer.payload + " spawned by " + ToString(proc));
    }
  }
  // After a partition, processes on the other side count as ended although they
  // run.
  if (any_fault_ || !actor.operation.ends_with("abort")) return;
  for (const ProcId& target : actor.targets) {
    if (!cluster_.shims().IsRunning(target)) continue;
    Error("the abort by " + ToString(proc) + " is answered before the end of " +
          ToString(target));
  }
}

// Checks that no process has received a signal more often than it was sent.
void Soak::CheckSignals() {
  for (const auto& job : jobs_) {
    for (Rank r = 0; r < job->spec.procs.size(); ++r) {
      const ProcId proc{job->spec.nspace, r};
      if (!duplicates_ &&
          cluster_.shims().signals(proc, kSignal) > job->signals) {
        Error(ToString(proc) + " got " +
              std::to_string(cluster_.shims().signals(proc, kSignal)) +
              " signals of " + std::to_string(job->signals));
      }
    }
  }
}

void Soak::PrintWaiting() {
  cluster_.Input(cluster_.members().root(), StateRequested{2, "why", ""});
  const size_t before = cluster_.observed().states().size();
  cluster_.Run();
  for (size_t i = before; i < cluster_.observed().states().size(); ++i) {
    const auto& state = cluster_.observed().states()[i];
    if (state.done) continue;
    const auto answer = DecodeStateAnswer(state.answer.view());
    if (!answer.ok()) continue;
    for (const Waiting& w : answer->waiting) {
      fprintf(stderr, "node %u: %s %s, missing", state.node, w.nspace.c_str(),
              w.operation.c_str());
      for (const MissingProc& m : w.missing) {
        fprintf(stderr, " %s on %u", ToString(m.proc).c_str(), m.node);
      }
      fprintf(stderr, "\n");
    }
  }
}

}  // namespace canopy::sim
