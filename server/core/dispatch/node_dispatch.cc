#include "server/core/dispatch/node_dispatch.h"

#include <string>
#include <utility>

#include "server/core/dispatch/lending.h"
#include "server/core/dispatch/propagation.h"

namespace canopy::core {
namespace {

void Log(Engines& e, LogLine::Level level, std::string text) {
  e.out.push_back(LogLine{level, std::move(text)});
}

// The loss of a node may remove jobs. Changes are propagated after each engine,
// so that the next engine does not look up a job that was removed.
void OnLost(Engines& e, const NodeStateChanged& in) {
  e.jobs.holds().OnNodeLost(e.now, in.node);
  e.ForEach([&](Engine& engine) {
    engine.OnNodeLost(e.step(), in);
    PropagateChanges(e);
  });
  e.ForEach([&](Engine& engine) { engine.OnTreeChanged(e.step()); });
  LendJobs(e);
}

void OnReturned(Engines& e, NodeId node) {
  e.ForEach([&](Engine& engine) {
    engine.OnNodeReturned(e.step());
    engine.OnTreeChanged(e.step());
    PropagateChanges(e);
  });
  LendJobs(e);
  e.engine.SendSyncComplete(e.step(), node);
}

}  // namespace

void OnMemberAdded(Engines& e, const MemberAdded& in) {
  std::vector<std::string>& names = e.config.node_names;
  if (in.node != names.size()) return;
  names.push_back(in.name);
  e.tree.Grow(static_cast<uint32_t>(names.size()));
}

void OnMemberServes(Engines& e, const MemberServes& in) {
  const NodeId before = e.tree.leader();
  e.tree.SetInService(in.node, in.in_service);
  const NodeId leader = e.tree.leader();
  if (leader == before) return;
  Log(e, LogLine::Level::kInfo,
      "the agent of node " + e.config.node_names[leader] +
          " controls new jobs from now on");
  LendJobs(e);
}

void OnNodeStateChanged(Engines& e, const NodeStateChanged& in) {
  if (in.node == e.self || in.node >= e.tree.size()) return;
  if (e.tree.alive(in.node) == in.up) return;
  e.tree.SetAlive(in.node, in.up);
  Log(e, in.up ? LogLine::Level::kInfo : LogLine::Level::kWarning,
      "node " + e.config.node_names[in.node] + (in.up ? " is up" : " is lost") +
          (in.reason.empty() ? "" : ": " + in.reason));
  if (in.up) {
    OnReturned(e, in.node);
  } else {
    OnLost(e, in);
  }
}

void OnNodeRestarted(Engines& e, const NodeRestarted& in) {
  if (in.node == e.self || !e.tree.alive(in.node)) return;
  Log(e, LogLine::Level::kInfo,
      "the agent of node " + e.config.node_names[in.node] + " was restarted");
  e.ForEach([&](Engine& engine) { engine.OnNodeRestarted(e.step(), in.node); });
  LendJobs(e);
  e.engine.SendSyncComplete(e.step(), in.node);
}

}  // namespace canopy::core
