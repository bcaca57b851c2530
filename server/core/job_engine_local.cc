// What becomes of a job's processes on this node.
#include <string>
#include <utility>

#include "common/status.h"
#include "server/core/job_engine.h"

namespace canopy::core {

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
  for (const ProgramNote& note : in.notes) {
    answer.notes.push_back({note.reason, note.detail, {self_}, 1});
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
  if (in.total > 0 || in.resend) job->input_taken = in.total;
  if (job->head) {
    TakeInput(turn, *job, job->local_node, in.bytes, in.total);
    if (in.resend) SendInputAgain(turn, *job, job->local_node, in.total);
  } else if (tree_.alive(job->controller)) {
    Send(turn, job->controller,
         InputCredit{in.nspace, in.bytes, in.total, in.resend});
  }
}

}  // namespace canopy::core
