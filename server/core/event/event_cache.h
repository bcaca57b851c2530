// Events that are kept for who asks for them later.
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

// In one agent; the oldest are evicted first.
inline constexpr size_t kMaxCachedEvents = 512;
inline constexpr size_t kMaxCachedEventBytes = size_t{4} << 20;

// Events by which an agent recognises one that comes again: on another way
// through the tree, from a neighbour's cache, or raised again.
inline constexpr size_t kRecentEvents = size_t{16} << 10;

// EventRaised::id of an event of which an agent makes the number.
inline constexpr uint64_t kAgentsEvent = uint64_t{1} << 63;

// By which every agent and every client knows the event.
EventId IdOf(const EventMessage& message);

struct CachedEvent {
  EventMessage message;
  ClientId raised_by = 0;  // here
  std::set<ClientId> delivered = {};
  // Every agent raises it for itself; `stays_here`: and under a number of its
  // own.
  bool known_everywhere = false;
  bool stays_here = false;  // whatever its range
  // Only for clients that have registered for its code.
  bool by_code = false;
  // It is of the job as a whole, or for others, and kept when that is over.
  bool outlives_job = false;
  // Its job is over here: it is only for those who wanted it before that, at an
  // agent that has been restarted since.
  bool job_over = false;
  std::set<NodeId> passed = {};  // neighbours that have it, when it is routed
  uint64_t arrival = 0;          // its place among all that this agent keeps
  std::shared_ptr<const ClientEvent> for_clients = nullptr;  // once one gets it
};

// Not synchronised.
class EventCache {
 public:
  // The event as kept, until the next call.
  CachedEvent& Add(CachedEvent event);
  // In the order in which they came.
  std::deque<CachedEvent>& events() { return events_; }
  const std::deque<CachedEvent>& events() const { return events_; }
  bool Knows(const EventId& id) const { return ids_.contains(id); }
  void OnClientGone(ClientId client);
  // Events of its processes, but for those that outlive it, are for who wanted
  // them before (CachedEvent::job_over). A process set is not for them: it has
  // ended.
  void OnJobOver(const std::string& nspace);

 private:
  std::deque<CachedEvent> events_;
  std::set<EventId> ids_;  // of these
  size_t bytes_ = 0;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_EVENT_EVENT_CACHE_H_
