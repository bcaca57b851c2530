// Events that are kept for who asks for them later.
#ifndef CANOPY_SERVER_CORE_EVENT_EVENT_CACHE_H_
#define CANOPY_SERVER_CORE_EVENT_EVENT_CACHE_H_

#include <cstddef>
#include <deque>
#include <set>
#include <string>

#include "common/ids.h"
#include "common/recent_events.h"
#include "server/core/messages.h"
#include "server/core/step/client_id.h"

namespace canopy::core {

// In one agent; the oldest are evicted first.
inline constexpr size_t kMaxCachedEvents = 512;
inline constexpr size_t kMaxCachedEventBytes = size_t{4} << 20;

// By which every agent and every client knows the event.
EventId IdOf(const EventMessage& message);

struct CachedEvent {
  EventMessage message;
  ClientId raised_by = 0;  // here
  std::set<ClientId> delivered;
  bool stays_here = false;  // whatever its range
};

// Not synchronised.
class EventCache {
 public:
  void Add(CachedEvent event);
  // In the order in which they came.
  std::deque<CachedEvent>& events() { return events_; }
  const std::deque<CachedEvent>& events() const { return events_; }
  bool Knows(const EventId& id) const { return ids_.contains(id); }
  void OnClientGone(ClientId client);
  // Events of its processes.
  void Drop(const std::string& nspace);

 private:
  std::deque<CachedEvent> events_;
  std::set<EventId> ids_;  // of these
  size_t bytes_ = 0;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_EVENT_EVENT_CACHE_H_
