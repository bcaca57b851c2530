// What becomes of a job's processes on this node.
#include <string>
#include <utility>

#include "common/status.h"
#include "server/core/job_engine.h"

namespace canopy::core {

void JobEngine::OnLocalPrepared(TimeNs now, const LocalPrepared& in,
                                Actions* actions) {
  StepContext step{now, *actions};
  JobState* job = Find(in.nspace);
  if (job == nullptr || !job->has_local()) return;
  PhaseAnswer answer;
  if (in.status == kSuccess) {
    answer.count = 1;
  } else {
    answer.errors.push_back({self_, in.status, in.text});
  }
  for (const ProgramNote& note : in.notes) {
    answer.notes.push_back({note.reason, note.detail, {self_}, 1});
  }
  Answer(*job, job->prepare, self_, std::move(answer));
  Advance(step, *job);
}

void JobEngine::OnLocalStarted(TimeNs now, const LocalStarted& in,
                               Actions* actions) {
  StepContext step{now, *actions};
  JobState* job = Find(in.nspace);
  if (job == nullptr || !job->has_local()) return;
  PhaseAnswer answer;
  answer.count = in.procs;
  if (in.status != kSuccess) {
    answer.errors.push_back({self_, in.status, in.text});
    if (in.procs == 0) RecordNeverStarted(step, *job);
  }
  Answer(*job, job->start, self_, std::move(answer));
  // Killed while processes were being created: repeated for the late ones.
  if (job->kill && job->local_left > 0) {
    step.out.push_back(
        KillLocal{in.nspace, {}, job->spec->kill_grace_seconds * 1000});
  }
  Advance(step, *job);
}

void JobEngine::OnLocalExits(TimeNs now, const LocalExits& in,
                             Actions* actions) {
  StepContext step{now, *actions};
  JobState* job = Find(in.nspace);
  if (job == nullptr) return;
  const Job* entry = table_.Find(in.nspace);
  for (ProcExit exit : in.exits) {
    if (entry == nullptr || !entry->is_local(exit.rank)) continue;
    const RankState& rank = entry->ranks[exit.rank];
    exit.called_init |= rank.called_init;
    exit.finalized |= rank.finalized;
    RecordExit(step, *job, exit);
  }
  Advance(step, *job);
}

void JobEngine::OnLocalOutput(TimeNs now, const LocalOutput& in,
                              Actions* actions) {
  StepContext step{now, *actions};
  JobState* job = Find(in.nspace);
  if (job == nullptr) return;
  OutputData output{in.nspace, in.rank, in.channel, in.data, in.end};
  if (job->head) {
    DeliverStream(step, *job, output);
  } else if (tree_.alive(job->controller)) {
    Send(step, job->controller, std::move(output));
  } else if (!in.data.empty()) {
    // The output has no reader any more: credit it, so that the process can
    // end.
    step.out.push_back(CreditOutput{in.nspace, in.data.size()});
  }
}

void JobEngine::OnLocalInputDone(TimeNs now, const LocalInputDone& in,
                                 Actions* actions) {
  StepContext step{now, *actions};
  JobState* job = Find(in.nspace);
  if (job == nullptr || !job->has_local()) return;
  if (in.total > 0 || in.resend) job->input_taken = in.total;
  if (job->head) {
    TakeInput(step, *job, job->local_node, in.bytes, in.total);
    if (in.resend) ResendInput(step, *job, job->local_node, in.total);
  } else if (tree_.alive(job->controller)) {
    Send(step, job->controller,
         InputCredit{in.nspace, in.bytes, in.total, in.resend});
  }
}

}  // namespace canopy::core
