// Events that are kept for clients that register later.
#ifndef CANOPY_SERVER_CORE_EVENT_EVENT_CACHE_H_
#define CANOPY_SERVER_CORE_EVENT_EVENT_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>

#include "common/ids.h"
#include "common/recent_events.h"
#include "server/core/messages.h"
#include "server/core/step/client_actions.h"
#include "server/core/step/client_id.h"

namespace canopy::core {

// Limits for one agent; the oldest events are evicted first.
inline constexpr size_t kMaxCachedEvents = 512;
inline constexpr size_t kMaxCachedEventBytes = size_t{4} << 20;

// The number of recent events that an agent remembers in order to drop
// duplicates. An event is a duplicate if it arrives again, along another path
// of the tree or from a neighbour's cache, or if it is raised a second time.
inline constexpr size_t kRecentEvents = size_t{16} << 10;

// Flag in EventRaised::id: the identity was made by an agent, not by a client.
inline constexpr uint64_t kAgentsEvent = uint64_t{1} << 63;

// Returns the identity by which every agent and client recognises the event.
EventId IdOf(const EventMessage& message);

struct CachedEvent {
  EventMessage message;
  // The client, if a client of this agent raised the event.
  ClientId raised_by = 0;
  std::set<ClientId> delivered = {};
  // True if every agent raises the event for itself. With `stays_here`, each
  // agent gives the event a different number.
  bool known_everywhere = false;
  bool stays_here = false;  // never forwarded, whatever its range
  // True if only clients that registered for the event's code get it.
  bool by_code = false;
  // True if the event describes the whole job, or is for other jobs. Such an
  // event is kept after the job is over.
  bool outlives_job = false;
  // True if the job is over at this agent. In this case only clients that
  // reattached after a restart of the agent still get the event.
  bool job_over = false;
  std::set<NodeId> passed = {};  // if routed: neighbours that have it
  uint64_t arrival = 0;  // its position in the order of arrival at this agent
  // Set when the first client gets the event.
  std::shared_ptr<const ClientEvent> for_clients = nullptr;
};

// Not synchronised.
class EventCache {
 public:
  // Adds the event to the cache. The reference is valid until the next call.
  CachedEvent& Add(CachedEvent event);
  // Returns the events in the order of arrival.
  std::deque<CachedEvent>& events() { return events_; }
  const std::deque<CachedEvent>& events() const { return events_; }
  bool Knows(const EventId& id) const { return ids_.contains(id); }
  // Erases the records of the events that the client got, because the client's
  // identifier may be reused.
  void OnClientGone(ClientId client);
  // Restricts the job's events to clients that reattach
  // (CachedEvent::job_over), except events that outlive the job. Definitions of
  // process sets are erased, because the sets have ended.
  void OnJobOver(const std::string& nspace);

 private:
  std::deque<CachedEvent> events_;
  std::set<EventId> ids_;  // of the events kept
  size_t bytes_ = 0;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_EVENT_EVENT_CACHE_H_
