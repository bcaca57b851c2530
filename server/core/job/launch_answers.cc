#include "server/core/job/launch_answers.h"

namespace canopy::core {

std::vector<NodeId> LaunchAnswers::Asked() const {
  std::vector<NodeId> asked = place_.children();
  if (local_.any()) asked.push_back(place_.self());
  return asked;
}

void LaunchAnswers::Drop(NodeId node) {
  prepare_.Drop(node);
  start_.Drop(node);
}

bool LaunchAnswers::StartIsAnswered() const {
  return start_.Complete(Asked()) || !Started().errors.empty();
}

std::vector<uint32_t> LaunchAnswers::Unanswered(bool started) const {
  const LaunchPhase& phase = started ? start_ : prepare_;
  const std::vector<JobNode>& nodes = local_.spec().nodes;
  std::vector<uint32_t> out;
  for (uint32_t node = 0; node < nodes.size(); ++node) {
    const NodeId agent = nodes[node].agent;
    if (place_.lost().contains(agent) ||
        local_.layout().ranks_on(node).empty()) {
      continue;
    }
    if (!phase.Answered(place_.HopTo(agent))) out.push_back(node);
  }
  return out;
}

void LaunchAnswers::ReportUp(const JobStep& step, bool started) {
  const NodeId parent = place_.parent();
  const std::string& nspace = local_.spec().nspace;
  if (AllPrepared() && !std::exchange(prepare_.sent_up, true)) {
    PhaseAnswer sum = Prepared();
    step.Send(parent, JobPrepared{nspace, sum.count, std::move(sum.errors),
                                  std::move(sum.notes), sum.port});
  }
  if (started && StartIsAnswered() && !std::exchange(start_.sent_up, true)) {
    PhaseAnswer sum = Started();
    step.Send(parent, JobStarted{nspace, sum.count, std::move(sum.errors)});
  }
}

}  // namespace canopy::core
