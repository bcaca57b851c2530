// The faults that the soak of tools injects into tools, jobs and agents.
#include <algorithm>
#include <cstdio>
#include <iterator>

#include "common/status.h"
#include "pmix_common.h"
#include "server/core/step/control_inputs.h"
#include "tests/sim/tool_run.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

constexpr TimeNs kSettle = 120 * kMs;
constexpr TimeNs kLate = 30 * kMs;
constexpr int kSegfault = 11;
// While an operation waits for a fault, one event in kStrikes is a fault.
constexpr uint64_t kStrikes = 4;

bool IsOfMessages(ToolFault fault) {
  return fault == ToolFault::kLate || fault == ToolFault::kDoubled;
}

}  // namespace

void ToolSoak::Note(const std::string& fault) {
  result_.faults.push_back(fault + " at step " + std::to_string(result_.steps));
  if (options_.verbose) {
    fprintf(stderr, "%s\n", result_.faults.back().c_str());
  }
}

uint32_t ToolSoak::NumAlive() const {
  uint32_t count = 0;
  for (NodeId node = 0; node < result_.nodes; ++node) {
    count += cluster_.members().alive(node) ? 1 : 0;
  }
  return count;
}

// ------------------------------------------------------------------ phases ---

std::optional<ToolPhase> ToolSoak::PhaseOf(const PlayedPull& pull) {
  switch (pull.state) {
    case PlayedPull::State::kBegins:
      if (pull.request == 0) return std::nullopt;
      return ToolPhase::kPullBegins;
    case PlayedPull::State::kPauses:
      return pull.job.over ? ToolPhase::kPullRests : ToolPhase::kPullStalls;
    case PlayedPull::State::kReads: {
      if (pull.job.over) return ToolPhase::kPullRests;
      const bool more = pull.got.bytes() + pull.dropped < pull.Wanted();
      return more ? ToolPhase::kPullReads : ToolPhase::kPullWaits;
    }
    case PlayedPull::State::kEnds:
      return ToolPhase::kPullEnds;
    case PlayedPull::State::kDone:
      return std::nullopt;
  }
  return std::nullopt;
}

void ToolSoak::AddStopOp(ToolTarget& job, std::vector<Op>* out) {
  if (!job.stops() || job.running.empty() || job.stopped.empty()) return;
  const ToolPhase phase = job.is_released       ? ToolPhase::kStopReleases
                          : HaveAllStopped(job) ? ToolPhase::kStopHolds
                                                : ToolPhase::kStopGathers;
  const auto debugger = std::ranges::find_if(tools_, [&](const auto& entry) {
    return entry.second->target == &job && entry.second->connected;
  });
  out->push_back(
      {phase, debugger == tools_.end() ? ProcId() : debugger->first, &job});
}

std::vector<ToolSoak::Op> ToolSoak::Ops() {
  std::vector<Op> out;
  for (const auto& job : jobs_) AddStopOp(*job, &out);
  for (const auto& [proc, tool] : tools_) {
    if (!tool->connected) continue;
    for (const auto& pull : tool->pulls) {
      const auto phase = PhaseOf(*pull);
      if (phase) out.push_back({*phase, proc, &pull->job});
    }
    if (!tool->pushes.empty()) {
      out.push_back({ToolPhase::kPushWaits, proc, tool->target});
    }
  }
  return out;
}

// ---------------------------------------------------------------- messages ---

std::optional<ToolPhase> ToolSoak::PhaseOf(const PeerMessage& message) {
  const auto of_call = [&](const ProcId& proc,
                           uint64_t request) -> std::optional<ToolPhase> {
    const PlayedTool* const tool = FindTool(proc);
    if (tool == nullptr) return std::nullopt;
    if (tool->pushes.contains(request)) return ToolPhase::kPushWaits;
    for (const auto& pull : tool->pulls) {
      if (pull->end == request) return ToolPhase::kPullEnds;
      if (pull->request == request) return PhaseOf(*pull);
    }
    return std::nullopt;
  };
  if (const auto* asked = std::get_if<HostRequest>(&message.body)) {
    return of_call(asked->proc, asked->request);
  }
  if (const auto* reply = std::get_if<HostReply>(&message.body)) {
    return of_call(reply->proc, reply->request);
  }
  const auto* event = std::get_if<EventMessage>(&message.body);
  if (event == nullptr) return std::nullopt;
  if (event->status == PMIX_READY_FOR_DEBUG) return ToolPhase::kStopGathers;
  if (event->status == PMIX_DEBUGGER_RELEASE) return ToolPhase::kStopReleases;
  return std::nullopt;
}

Fate ToolSoak::OnSend(const PeerMessage& message, Fate fate) {
  const auto phase = aims_.empty() ? std::nullopt : PhaseOf(message);
  if (!phase || fate.lost || !OneIn(2)) return fate;
  const auto hits = [&](ToolFault fault) {
    if (std::erase(aims_, ToolCell{*phase, fault}) == 0) return false;
    result_.cells.Add(*phase, fault);
    Note(fault == ToolFault::kLate ? "a late message" : "a doubled message");
    return true;
  };
  if (hits(ToolFault::kLate)) fate.late += kLate;
  if (hits(ToolFault::kDoubled)) fate.twice = true;
  return fate;
}

// ----------------------------------------------------------------- strikes ---

void ToolSoak::MayStrike() {
  if (aims_.empty() || cluster_.now() < settled_ || !OneIn(kStrikes)) return;
  const std::vector<Op> ops = Ops();
  for (size_t i = 0; i < aims_.size(); ++i) {
    const ToolCell aim = aims_[i];
    if (IsOfMessages(aim.fault)) continue;
    std::vector<Op> meant;
    std::ranges::copy_if(ops, std::back_inserter(meant),
                         [&](const Op& op) { return op.phase == aim.phase; });
    if (meant.empty() || !Strike(aim, meant[Random(meant.size())])) continue;
    // The messages that the fault has sent may have fulfilled other aims, so
    // the aim is searched again.
    aims_.erase(std::ranges::find(aims_, aim));
    return;
  }
}

// Returns false if the fault is not possible now.
bool ToolSoak::Strike(const ToolCell& cell, const Op& op) {
  const NodeId root = cluster_.members().root();
  switch (cell.fault) {
    case ToolFault::kToolDies:
      if (op.tool.nspace.empty() || !cluster_.shims().IsRunning(op.tool)) {
        return false;
      }
      Note("crash of " + ToString(op.tool));
      result_.cells.Add(cell.phase, cell.fault);
      cluster_.shims().Exit(op.tool, kSegfault);
      return true;
    case ToolFault::kJobKilled:
      if (!op.job->IsOnItsWay()) return false;
      Note("kill of " + op.job->spec.nspace);
      op.job->harmed = true;
      result_.cells.Add(cell.phase, cell.fault);
      cluster_.Input(op.job->controller,
                     KillRequested{op.job->spec.nspace, 0, ""});
      return true;
    case ToolFault::kRootRestarted:
    case ToolFault::kRootLost:
      if (op.job->controller != root) return false;
      return StrikeNode(cell.fault, root);
    case ToolFault::kMemberJoins:
      return StrikeJoin();
    case ToolFault::kIdleLeaves:
      return StrikeIdleLeave();
    case ToolFault::kRootLeaves:
      return op.job->controller == root && StrikeLeave(root);
    case ToolFault::kJobAgentLeaves: {
      const auto& nodes = op.job->spec.nodes;
      const NodeId node = nodes[RandomMember(nodes.size())].agent;
      return node != root && StrikeLeave(node);
    }
    case ToolFault::kToolAgentLeaves: {
      if (op.tool.nspace.empty()) return false;
      const NodeId node = cluster_.NodeOf(op.tool);
      return node != root && StrikeLeave(node);
    }
    case ToolFault::kJobAgentRestarted:
    case ToolFault::kJobAgentLost: {
      const auto& nodes = op.job->spec.nodes;
      const NodeId node = nodes[Random(nodes.size())].agent;
      return node != root && StrikeNode(cell.fault, node);
    }
    default: {
      if (op.tool.nspace.empty()) return false;
      const NodeId node = cluster_.NodeOf(op.tool);
      return node != root && StrikeNode(cell.fault, node);
    }
  }
}

// Records the fault for every operation that involves the node.
void ToolSoak::HitNode(NodeId node) {
  const bool is_root = node == cluster_.members().root();
  const auto add = [&](const Op& op, ToolFault again, ToolFault lost) {
    result_.cells.Add(op.phase, restarts_ ? again : lost);
  };
  for (const Op& op : Ops()) {
    if (is_root) {
      add(op, ToolFault::kRootRestarted, ToolFault::kRootLost);
      continue;
    }
    if (!op.tool.nspace.empty() && cluster_.NodeOf(op.tool) == node) {
      add(op, ToolFault::kToolAgentRestarted, ToolFault::kToolAgentLost);
    }
    if (std::ranges::count(op.job->spec.nodes, node, &JobNode::agent) > 0) {
      add(op, ToolFault::kJobAgentRestarted, ToolFault::kJobAgentLost);
    }
  }
}

bool ToolSoak::StrikeNode(ToolFault fault, NodeId node) {
  if (!cluster_.members().alive(node)) return false;
  if (!restarts_ && NumAlive() < 2) return false;
  settled_ = cluster_.now() + kSettle;
  any_fault_ = true;
  if (fault == ToolFault::kToolAgentCutOff) {
    for (const Op& op : Ops()) {
      const bool cut =
          !op.tool.nspace.empty() && cluster_.NodeOf(op.tool) == node;
      if (cut) result_.cells.Add(op.phase, fault);
    }
    Note("node " + std::to_string(node) + " joins again");
    Harm(node);
    cluster_.Rejoin(node);
    return true;
  }
  HitNode(node);
  if (!restarts_) {
    LoseNode(node);
    return true;
  }
  Note("restart of node " + std::to_string(node));
  for (const auto& job : jobs_) {
    job->any_restarted |=
        std::ranges::count(job->spec.nodes, node, &JobNode::agent) > 0;
    if (!job->launched || job->controller != node) continue;
    job->any_restarted = true;
    job->restarted = true;
    job->forgotten |= job->over;
    job->pushed.MayRepeat();
  }
  for (const auto& [proc, tool] : tools_) {
    const bool is_there = tool->connected && cluster_.NodeOf(proc) == node;
    for (const auto& pull : tool->pulls) {
      pull->unknown |= pull->job.controller == node;
      pull->expires |= is_there;
    }
  }
  cluster_.RestartNode(node);
  return true;
}

void ToolSoak::LoseNode(NodeId node) {
  Note("loss of node " + std::to_string(node));
  root_lost_ |= node == cluster_.members().root();
  Harm(node);
  const std::vector<ProcId> gone = ProcsOn(node);
  cluster_.KillNode(node);
  for (const ProcId& proc : gone) OnExit(proc);
}

// Marks the jobs that the loss of the node may end.
void ToolSoak::Harm(NodeId node) {
  for (const auto& job : jobs_) {
    const bool there =
        std::ranges::count(job->spec.nodes, node, &JobNode::agent) > 0;
    job->harmed |= there || (job->launched && job->controller == node);
  }
}

}  // namespace canopy::sim
