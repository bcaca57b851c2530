// Tools that push. A push that was consumed must be read by all processes, once
// and in order.
#include "common/host_op.h"
#include "common/status.h"
#include "tests/sim/tool_run.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

void ToolSoak::Push(PlayedTool& tool) {
  if (tool.pushes_left == 0) return;
  --tool.pushes_left;
  ToolTarget& job = *tool.target;
  InputPush push;
  const std::string data = job.pushed.Push(tool.proc, Random(100));
  const bool lost = options_.sabotage == ToolSabotage::kLosesInput && OneIn(5);
  push.data = Bytes(lost ? std::string() : data);
  push.complete = tool.pushes_left == 0 && tool.completes;
  if (push.data.empty() && !push.complete) push.data = Bytes(std::string(";"));
  const Rank rank = job.spec.stdin_target == StdinTarget::kAll
                        ? kRankWildcard
                        : job.spec.stdin_rank;
  const RequestId request = cluster_.clients().CallHost(
      tool.proc, HostOp::kPushInput, Bytes(wire::Encode(push)),
      {{job.spec.nspace, rank}});
  tool.pushes[request] = job.pushed.count(tool.proc);
}

bool ToolSoak::OnPushAnswer(PlayedTool& tool, RequestId request) {
  const auto push = tool.pushes.extract(request);
  if (push.empty()) return false;
  ToolTarget& job = *tool.target;
  const int status = cluster_.clients().StatusOf(request);
  if (status == kSuccess) {
    ++result_.pushes;
    job.pushed.OnTaken(tool.proc, push.mapped());
  } else if (status == kErrIofComplete) {
    tool.pushes_left = 0;
    job.pushed.OnRefused(tool.proc, push.mapped());
  } else {
    tool.pushes_left = 0;
    job.pushed.OnRefused(tool.proc, push.mapped());
    // The job may not have begun at the first push.
    const bool excused = job.harmed || !job.IsOnItsWay() ||
                         job.running.empty() || push.mapped() <= tool.depth;
    if (!excused) {
      Error("a push of " + ToString(tool.proc) + " ends with " +
            std::to_string(status));
    }
  }
  const TimeNs pause = OneIn(2) ? 0 : UpTo(50 * kMs);
  Later(tool.proc, pause, [this](PlayedTool& there) {
    Push(there);
    LeaveIfDone(there);
  });
  return true;
}

void ToolSoak::CheckInput(ToolTarget& job, Rank rank, bool ended) {
  if (job.harmed) return;
  for (const std::string& error : job.pushed.Check(rank, ended)) {
    Error(job.spec.nspace + ": " + error);
  }
}

}  // namespace canopy::sim
