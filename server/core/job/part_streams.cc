#include "server/core/job/part_streams.h"

#include <cstdint>
#include <utility>

#include "server/core/job/records.h"

namespace canopy::core {

void PartStreams::SendOutput(const JobStep& step, const LocalOutput& in) const {
  if (step.tree.alive(place_.controller())) {
    step.Send(place_.controller(),
              OutputData{in.nspace, in.rank, in.channel, in.data, in.end});
  } else if (!in.data.empty()) {
    // The controller is lost, so the output has no reader. It is credited, so
    // that the process is not blocked and can end.
    step.out.push_back(CreditOutput{in.nspace, in.data.size()});
  }
}

void PartStreams::OnOutputCredit(const JobStep& step,
                                 const OutputCredit& m) const {
  if (!local_.any()) return;
  step.out.push_back(CreditOutput{m.nspace, m.bytes, m.total});
  if (m.resend) step.out.push_back(ResendOutput{m.nspace});
}

// Input for all ranks is forwarded down the tree. The controller has sent input
// for some ranks to their nodes directly.
void PartStreams::OnInput(const JobStep& step, const InputData& m) {
  if (m.ranks.empty()) {
    for (const NodeId child : place_.children()) step.Send(child, m);
  }
  if (!local_.any()) return;
  std::vector<Rank> ranks = local_.Of(m.ranks);
  if (ranks.empty()) return;
  const InputOrder::Verdict verdict =
      input_.OnPiece(m.data.size(), m.end, m.run);
  if (verdict.begins && persists_) {
    step.out.push_back(InputRunRecord(m.nspace, input_.run()));
  }
  if (verdict.requests) RequestInput(step);
  if (!verdict.passes) return;
  step.out.push_back(
      FeedInput{m.nspace, std::move(ranks), m.data, input_.FromRun(m.end)});
}

void PartStreams::OnInputTaken(const JobStep& step, const LocalInputDone& in) {
  if (in.total > 0 || in.resend) input_.OnTaken(in.total, in.given);
  if (place_.controls() || !step.tree.alive(place_.controller())) return;
  step.Send(place_.controller(), CreditOf(in));
}

// In a later input run, `bytes` may include input of the previous run. It is
// therefore reported only if the total is unknown.
InputCredit PartStreams::CreditOf(const LocalInputDone& in) const {
  const uint64_t run = input_.run().id;
  const bool counts = run == 0 || in.total == 0;
  return {in.nspace, counts ? in.bytes : 0, input_.InRun(in.total), in.resend,
          run};
}

bool PartStreams::TakesInput() const {
  const JobSpec& spec = local_.spec();
  if (spec.stdin_target == StdinTarget::kRank) {
    return local_.Has(spec.stdin_rank);
  }
  return spec.stdin_target == StdinTarget::kAll && local_.any();
}

void PartStreams::RequestInput(const JobStep& step) const {
  const NodeId controller = place_.controller();
  if (!started_ || !TakesInput() || !input_.taken() || place_.controls() ||
      !step.tree.alive(controller)) {
    return;
  }
  step.Send(controller,
            CreditOf({local_.spec().nspace, 0, *input_.taken(), true}));
}

void PartStreams::Recover(const std::vector<PersistedRecord>& records) {
  input_.Forget();
  input_.Recover(RecoverInputRun(records));
}

}  // namespace canopy::core
