// Event handlers and the chains that run them (PMIx Standard, chapter "Event
// Notification"). The engine does not know the agent: Raise delivers the
// events, and an executor runs the handlers as tasks.
#ifndef CANOPY_CLIENT_EVENTS_EVENT_ENGINE_H_
#define CANOPY_CLIENT_EVENTS_EVENT_ENGINE_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "client/events/event.h"
#include "client/events/handler.h"
#include "common/values/info_list.h"
#include "pmix.h"

namespace canopy::client {

// Thread-safe. Handlers run only in the executor and never under a lock. The
// handlers of one event run one after another: each starts after its
// predecessor has called its completion function.
class EventEngine {
 public:
  // Runs a task later; tasks run in order.
  using Executor = std::function<void(std::function<void()>)>;

  // The number of events kept for later handlers while no handler accepts them.
  static constexpr size_t kMaxCached = 512;

  // `places` outlives the engine. `in_task` returns whether the calling thread
  // is inside a task of `executor`.
  EventEngine(const SourcePlaces* places, Executor executor,
              std::function<bool()> in_task);
  // Ends the chains that wait for a completion function. A later call of the
  // function has no effect.
  ~EventEngine();
  EventEngine(const EventEngine&) = delete;
  EventEngine& operator=(const EventEngine&) = delete;

  // Adds a handler, which receives no events before Activate. *reference
  // identifies the handler. Returns PMIX_ERR_EVENT_REGISTRATION if its place is
  // taken.
  int Add(HandlerSpec spec, size_t* reference);

  // Starts delivery to a handler. The handler first receives the events that it
  // missed since Add and the earlier events that no handler accepted.
  void Activate(size_t reference);

  // Removes a handler and returns its spec, so that its codes can be
  // unsubscribed. If the handler is running, Remove waits until it has
  // returned, except inside a task of the executor. Returns PMIX_ERR_NOT_FOUND
  // if there is no such handler.
  int Remove(size_t reference, HandlerSpec* spec);

  // Registers the library's own observer, for the events whose code `wants`
  // accepts. `see` runs in the executor twice for each event: at the event's
  // arrival, without results, and after its handlers, with their results, even
  // if there are no handlers. Observe is called once.
  using WantsCode = std::function<bool(pmix_status_t)>;
  using See = std::function<void(const Event&, const InfoList* results)>;
  void Observe(WantsCode wants, See see);

  // Starts the chain of an event for the handlers of this process.
  void Raise(std::shared_ptr<const Event> event);

 private:
  struct Handler;
  struct Chain;
  class State;

  std::shared_ptr<State> state_;
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_EVENTS_EVENT_ENGINE_H_
