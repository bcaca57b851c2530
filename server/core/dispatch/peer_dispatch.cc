#include "server/core/dispatch/peer_dispatch.h"

#include <memory>
#include <optional>
#include <variant>

#include "server/core/event/group_events.h"

namespace canopy::core {
namespace {

// Handles all messages about the life of jobs, and the end of a
// resynchronisation.
template <typename T>
void OnBody(Engines& e, const PeerMessage& message, const T&) {
  e.engine.OnPeer(e.step(), message);
}

void OnBody(Engines& e, const PeerMessage& message, const JobPrepare& body) {
  if (e.engine.DefersPrepare(message.src, body.controller)) {
    e.engine.OnPeer(e.step(), message);
    return;
  }
  e.maps.OnPrepare(body.spec);
  e.queue.Post(JobMessageDue{std::make_shared<const PeerMessage>(message)});
}

void OnBody(Engines& e, const PeerMessage& message, const JobForget& body) {
  e.engine.OnPeer(e.step(), message);
  e.maps.OnForget(message.src, body.nspace);
  e.owners.OnOver(message.src, body.nspace);
}

void OnBody(Engines& e, const PeerMessage& message, const JobQueryReply& body) {
  e.engine.OnPeer(e.step(), message);
  e.maps.OnForget(message.src, body.nspace);
  e.owners.OnOver(message.src, body.nspace);
}

void OnBody(Engines& e, const PeerMessage& message, const JobMapRequest& body) {
  e.maps.OnRequest(
      e.step(), message.src, body,
      {e.engine.LostOf(body.nspace), e.engine.ControllerOf(body.nspace)});
}

// An unrequested map is that of a job which its sender controls.
void OnBody(Engines& e, const PeerMessage& message, const JobMapReply& body) {
  if (body.request != 0) return e.maps.OnReply(message.src, body);
  const bool known = e.jobs.Find(body.nspace) != nullptr;
  if (known && e.engine.ControllerOf(body.nspace) != message.src) return;
  if (e.engine.HasEnded(body.nspace)) return;
  e.maps.OnOffered(e.step(), message.src, body);
}

void OnBody(Engines& e, const PeerMessage& message, const SpawnRequest& body) {
  e.spawns.OnRequest(e.step(), message.src, body);
}

void OnBody(Engines& e, const PeerMessage& message, const SpawnReply& body) {
  if (!e.spawns.Awaits(message.src, body)) return;
  e.maps.OnLent(message.src, body.nspace, body.spec);
  e.queue.Post(SpawnReplyDue{body});
}

void OnBody(Engines& e, const PeerMessage& message, const JobExits& body) {
  for (const ProcExit& exit : body.exits) {
    if (exit.finalized && !exit.restarted) {
      e.jobs.MarkFinalized(body.nspace, exit.rank);
    }
  }
  e.engine.OnPeer(e.step(), message);
}

void OnBody(Engines& e, const PeerMessage& message, const JobKill& body) {
  if (body.ranks.empty()) e.jobs.MarkEnding(body.nspace);
  e.engine.OnPeer(e.step(), message);
}

void OnBody(Engines& e, const PeerMessage& message, const CollectiveUp& body) {
  e.collectives.OnUp(e.step(), message.src, body);
}

void OnBody(Engines& e, const PeerMessage& message,
            const CollectiveDown& body) {
  e.collectives.OnDown(e.step(), message.src, body);
}

void OnBody(Engines& e, const PeerMessage& message, const DmodexRequest& body) {
  e.gets.OnRequest(e.step(), message.src, body);
}

void OnBody(Engines& e, const PeerMessage& message, const DmodexReply& body) {
  e.gets.OnReply(e.step(), message.src, body);
}

void OnBody(Engines& e, const PeerMessage& message, const EventMessage& body) {
  if (!e.events.OnMessage(e.step(), message.src, body)) return;
  const std::optional<LeftGroup> group = GroupLeft(body);
  const Job* job = e.jobs.Find(body.source.nspace);
  // For a local process, the call by which it left the group was handled
  // already.
  if (!group || job == nullptr || job->is_local(body.source.rank)) return;
  e.collectives.OnLeft(e.step(), body.source, group->name, group->made);
}

void OnBody(Engines& e, const PeerMessage&, const AbortMessage& body) {
  e.aborts.OnMessage(e.step(), body);
}

void OnBody(Engines& e, const PeerMessage& message, const AbortReply& body) {
  e.aborts.OnReply(e.step(), message.src, body);
}

void OnBody(Engines& e, const PeerMessage& message, const FactsRequest& body) {
  e.queries.OnRequest(e.step(), message.src, body);
}

void OnBody(Engines& e, const PeerMessage& message, const FactsReply& body) {
  e.queries.OnReply(e.step(), message.src, body);
}

void OnBody(Engines& e, const PeerMessage& message, const HostRequest& body) {
  if (e.Forwards(body.op)) {
    return e.forwarding.OnRequest(e.step(), message.src, body);
  }
  e.host.OnRequest(e.step(), message.src, body);
}

void OnBody(Engines& e, const PeerMessage& message, const HostReply& body) {
  if (e.forwarding.OnReply(e.step(), message.src, body)) return;
  e.host.OnReply(e.step(), message.src, body);
}

void OnBody(Engines& e, const PeerMessage& message, const JobStarted& body) {
  e.engine.OnPeer(e.step(), message);
  e.host.OnLaunched(e.step(), body.nspace);
}

void OnBody(Engines& e, const PeerMessage& message, const StateQuery& body) {
  e.reports.OnQuery(e.step(), message.src, body);
}

void OnBody(Engines& e, const PeerMessage& message, const StateReply& body) {
  e.reports.OnReply(e.step(), message.src, body);
}

void OnBody(Engines& e, const PeerMessage&, const OverlayShutdown& body) {
  ShutDown(e, body);
}

}  // namespace

// A message may come after the report that its sender is lost, because links
// send the states of members before messages. What the sender did has been
// undone by then, so the message would leave state that nothing removes.
void OnPeerMessage(Engines& e, const PeerMessage& message) {
  if (message.dst != e.self || !e.tree.alive(message.src)) return;
  if (e.publishing.OnPeer(e.step(), message)) return;
  std::visit([&](const auto& body) { OnBody(e, message, body); }, message.body);
}

void ShutDown(Engines& e, const OverlayShutdown& order) {
  for (const NodeId child : e.tree.children(e.self)) {
    e.out.push_back(SendPeer{PeerMessage{e.self, child, order}});
  }
  e.out.push_back(EndAgent{order.reason});
}

}  // namespace canopy::core
