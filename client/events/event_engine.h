// Event handlers and the chains that run them. Knows nothing of the agent:
// events come in through Raise, handlers run as tasks of an executor.
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

// Thread-safe. Handlers run in the executor only and never under a lock; those
// of one event run one after another, each after the one before it called its
// completion function.
class EventEngine {
 public:
  // Runs a task later, in order.
  using Executor = std::function<void(std::function<void()>)>;

  // How many events that nobody wanted yet are kept for later handlers.
  static constexpr size_t kMaxCached = 512;

  // `places` outlives the engine. `in_task` tells whether the calling thread
  // is inside a task of `executor`.
  EventEngine(const SourcePlaces* places, Executor executor,
              std::function<bool()> in_task);
  // Chains that wait for a completion function are given up; calling it later
  // does nothing.
  ~EventEngine();
  EventEngine(const EventEngine&) = delete;
  EventEngine& operator=(const EventEngine&) = delete;

  // Adds a handler that gets nothing before Activate. *reference names it.
  // PMIX_ERR_EVENT_REGISTRATION when its place is taken.
  int Add(HandlerSpec spec, size_t* reference);

  // From now on it gets events, first those that it missed since Add and those
  // that came before and nobody wanted.
  void Activate(size_t reference);

  // Forgets a handler and gives its spec back, so that its codes can be
  // unsubscribed. When it is running in another thread, waits for its return.
  // PMIX_ERR_NOT_FOUND when there is none.
  int Remove(size_t reference, HandlerSpec* spec);

  // What the library itself does with events whose code `wants` accepts: `see`
  // runs in the executor, without results when the event arrives, and with the
  // handlers' when they have run, of which there may be none. Once.
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
