#include "server/control/time_limit.h"

#include <algorithm>
#include <string>

#include "common/ids.h"
#include "common/status.h"
#include "protos/control.pb.h"
#include "server/control/waiting.h"
#include "server/core/step/control_inputs.h"

namespace canopy::control {
namespace {

std::string NameOf(const JobSpec& job, NodeId agent) {
  const auto node = std::ranges::find(job.nodes, agent, &JobNode::agent);
  return node == job.nodes.end() ? "node " + std::to_string(agent) : node->name;
}

}  // namespace

void EndOutOfTime(const std::shared_ptr<const JobSpec>& job,
                  StateCollector* states, InputSink* sink) {
  states->Collect("why", job->nspace, [job, sink](const auto& answers) {
    v1::WhyReply why;
    FillWaiting(
        answers, [&job](NodeId agent) { return NameOf(*job, agent); }, &why);
    sink->OnInput(
        core::KillRequested{job->nspace, kErrTimeout, WaitingLine(why)});
  });
}

}  // namespace canopy::control
