// Streams of the local ranks, and the local part in a successor agent.
#include <utility>

#include "server/core/job/part.h"
#include "server/core/job/records.h"

namespace canopy::core {

void JobPart::SendOutput(const JobStep& step, const LocalOutput& in) const {
  if (step.tree.alive(place_.controller())) {
    step.Send(place_.controller(),
              OutputData{in.nspace, in.rank, in.channel, in.data, in.end});
  } else if (!in.data.empty()) {
    // The output has no reader any more: credit it, so that the process can
    // end.
    step.out.push_back(CreditOutput{in.nspace, in.data.size()});
  }
}

void JobPart::OnOutputCredit(const JobStep& step, const OutputCredit& m) const {
  if (!has_local()) return;
  step.out.push_back(CreditOutput{m.nspace, m.bytes, m.total});
  if (m.resend) step.out.push_back(ResendOutput{m.nspace});
}

// Input for all ranks is forwarded down the tree; input for some was sent to
// their node directly.
void JobPart::OnInput(const JobStep& step, const InputData& m) {
  if (m.ranks.empty()) {
    for (const NodeId child : place_.children()) step.Send(child, m);
  }
  if (!has_local()) return;
  std::vector<Rank> ranks = LocalOf(m.ranks);
  if (ranks.empty()) return;
  const InputOrder::Verdict verdict =
      input_.OnPiece(m.data.size(), m.end, m.run);
  if (verdict.begins && persists_) {
    step.out.push_back(InputRunRecord(nspace(), input_.run()));
  }
  if (verdict.requests) RequestInput(step);
  if (!verdict.passes) return;
  step.out.push_back(
      FeedInput{m.nspace, std::move(ranks), m.data, input_.FromRun(m.end)});
}

void JobPart::OnInputTaken(const JobStep& step, const LocalInputDone& in) {
  if (in.total > 0 || in.resend) input_.OnTaken(in.total, in.given);
  if (place_.controls() || !step.tree.alive(place_.controller())) return;
  step.Send(place_.controller(), CreditOf(in));
}

// Of a later run, bytes alone may be of the one before.
InputCredit JobPart::CreditOf(const LocalInputDone& in) const {
  const uint64_t run = input_.run().id;
  const bool counts = run == 0 || in.total == 0;
  return {in.nspace, counts ? in.bytes : 0, input_.InRun(in.total), in.resend,
          run};
}

bool JobPart::TakesInput() const {
  if (!has_local() || spec_->stdin_target == StdinTarget::kNone) return false;
  if (spec_->stdin_target == StdinTarget::kAll) return true;
  return spec_->stdin_rank < spec_->procs.size() &&
         spec_->procs[spec_->stdin_rank].node == local_node_;
}

// Input in flight to this node may be lost.
void JobPart::RequestInput(const JobStep& step) const {
  const NodeId controller = place_.controller();
  if (!TakesInput() || !input_.taken() || place_.controls() ||
      state_ == JobPartState::kPreparing || !step.tree.alive(controller)) {
    return;
  }
  step.Send(controller, CreditOf({nspace(), 0, *input_.taken(), true}));
}

void JobPart::PersistController(const JobStep& step) const {
  if (!persists_ || !has_local()) return;
  step.out.push_back(ControllerRecord(nspace(), place_.controller()));
}

void JobPart::Recover(bool started, uint16_t port,
                      std::optional<JobKill> kill) {
  if (started) state_ = JobPartState::kStarting;
  port_ = port;
  kill_ = std::move(kill);
  if (kill_) table_.MarkEnding(nspace());
}

void JobPart::RecoverLocal(const JobStep& step, const JobRecovered& in) {
  if (!has_local()) return;
  if (!in.has_shim) {
    step.out.push_back(PrepareLocal{spec_, layout_});
    return PersistController(step);
  }
  prepare_.Answer(self_, {1, {}});
  for (const auto& [rank, incarnation] : in.incarnations) {
    table_.RecoverIncarnation(nspace(), rank, incarnation);
    step.out.push_back(SetIncarnation{{nspace(), rank}, incarnation});
  }
  // Unknown until the shim reports it.
  input_.Forget();
  input_.Recover(RecoverInputRun(in.records));
  if (in.started) {
    state_ = JobPartState::kStarting;
    start_.Answer(self_, {local_left_, {}});
  } else if (state_ != JobPartState::kPreparing) {
    StartLocalRanks(step);
  }
  killed_ = RecoverKilled(in.records);
  if (!in.started) return;
  if (kill_) return KillLocalRanks(step, {});
  if (!killed_.empty()) {
    KillLocalRanks(step, {killed_.begin(), killed_.end()});
  }
}

}  // namespace canopy::core
