#include "server/core/dispatch/node_dispatch.h"

#include <string>
#include <utility>

#include "server/core/dispatch/peer_dispatch.h"
#include "server/core/dispatch/propagation.h"
#include "server/core/event/lifecycle.h"

namespace canopy::core {
namespace {

void Log(Engines& e, LogLine::Level level, std::string text) {
  e.out.push_back(LogLine{level, std::move(text)});
}

// Notifies local clients only; other agents notify theirs.
void TellNodeLost(Engines& e, const NodeStateChanged& in) {
  if (in.life == 0) return;
  const ProcId agent{e.config.server_nspace, in.node};
  e.events.OnKnownEverywhere(
      e.now,
      NodeLifecycleEvent(agent, e.config.node_names[in.node], in.life, in.left),
      &e.out);
}

void OnReturned(Engines& e) {
  // Collectives that have completed are reported before processes that have
  // left since, as after a restart.
  e.collectives.OnTreeChanged(e.now, &e.out);
  e.engine.OnNodeReturned(e.now, &e.out);
  e.stops.local().OnPeerIsNew(e.now);
  e.publishing.OnNodeReturned(e.now, &e.out);
  TakeReleased(e);
}

void OnLost(Engines& e, const NodeStateChanged& in) {
  e.ends.OnNodeLost(e.now, in.node, &e.out);
  e.jobs.holds().OnNodeLost(e.now, in.node);
  e.forwarding.OnNodeLost(in.node);
  TellNodeLost(e, in);
  e.engine.OnNodeLost(e.now, in.node, in.reason, &e.out);
  TakeReleased(e);
  // Jobs may be removed together with the node. The other engines must not look
  // them up afterwards.
  PropagateChanges(e);
  e.gets.OnNodeLost(e.now, in.node, &e.out);
  e.publishing.OnNodeLost(e.now, in.node, &e.out);
  e.reports.OnNodeLost(in.node, &e.out);
  e.spawns.OnNodeLost(in.node, &e.out);
  e.queries.OnNodeLost(in.node, &e.out);
  e.maps.OnNodeLost(&e.out);
  e.collectives.OnTreeChanged(e.now, &e.out);
}

}  // namespace

void OnNodeStateChanged(Engines& e, const NodeStateChanged& in) {
  if (in.node == e.self || in.node >= e.tree.size()) return;
  if (e.tree.alive(in.node) == in.up) return;
  e.tree.SetAlive(in.node, in.up);
  Log(e, in.up ? LogLine::Level::kInfo : LogLine::Level::kWarning,
      "node " + e.config.node_names[in.node] +
          (in.up ? " is back" : " is lost") +
          (in.reason.empty() ? "" : ": " + in.reason));
  if (in.up) {
    OnReturned(e);
  } else {
    OnLost(e, in);
  }
  e.events.OnTreeChanged(&e.out);
  e.maps.OnTreeChanged(&e.out);
  e.owners.OnTreeChanged(e.now, &e.out);
  e.aborts.OnTreeChanged(e.now, &e.out);
  e.host.OnTreeChanged(e.now, &e.out);
  e.forwarding.OnTreeChanged(e.now, &e.out);
  e.spawns.SendAgain(&e.out);
  if (in.up) e.engine.SendSyncComplete(in.node, &e.out);
}

void OnNodeRestarted(Engines& e, const NodeRestarted& in) {
  if (in.node == e.self || !e.tree.alive(in.node)) return;
  Log(e, LogLine::Level::kInfo,
      "the agent of node " + e.config.node_names[in.node] + " was restarted");
  // Collectives that have completed are reported before processes that have
  // left since. In the other order it would seem as if the processes had left
  // before the completion.
  e.collectives.OnNodeRestarted(e.now, in.node, &e.out);
  e.engine.OnNodeRestarted(e.now, in.node, &e.out);
  e.gets.OnNodeRestarted(e.now, in.node, &e.out);
  e.publishing.OnNodeRestarted(e.now, in.node, &e.out);
  e.reports.OnNodeLost(in.node, &e.out);
  e.queries.OnNodeRestarted(in.node, &e.out);
  e.events.OnNodeRestarted(in.node, &e.out);
  e.stops.local().OnPeerIsNew(e.now);
  e.maps.OnNodeRestarted(in.node, &e.out);
  e.owners.OnNodeRestarted(e.now, in.node, &e.out);
  e.aborts.OnTreeChanged(e.now, &e.out);
  e.host.OnTreeChanged(e.now, &e.out);
  e.forwarding.OnNodeRestarted(e.now, in.node);
  e.forwarding.OnTreeChanged(e.now, &e.out);
  e.spawns.SendAgain(&e.out);
  e.engine.SendSyncComplete(in.node, &e.out);
}

}  // namespace canopy::core
