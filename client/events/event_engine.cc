#include "client/events/event_engine.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "common/mutex.h"
#include "common/values/value.h"

namespace canopy::client {

struct EventEngine::Handler {
  size_t reference = 0;
  int running = 0;
  bool active = false;
  bool removed = false;
  HandlerSpec spec;
  ChainPosition position;
  // Events that arrived between Add and Activate, and earlier events that no
  // handler accepted.
  std::vector<std::shared_ptr<const Event>> missed;
};

// One event on its way through its handlers. Only one task at a time uses it.
struct EventEngine::Chain {
  std::shared_ptr<State> state;
  std::shared_ptr<const Event> event;
  std::vector<std::shared_ptr<Handler>> handlers;
  size_t next = 0;
  std::shared_ptr<Handler> current;
  InfoList infos;    // passed to the current handler
  InfoList results;  // of the earlier handlers
};

class EventEngine::State : public std::enable_shared_from_this<State> {
 public:
  State(const SourcePlaces* places, Executor executor,
        std::function<bool()> in_task)
      : places_(places),
        executor_(std::move(executor)),
        in_task_(std::move(in_task)) {}

  void Close();
  int Add(HandlerSpec spec, size_t* reference);
  void Activate(size_t reference);
  int Remove(size_t reference, HandlerSpec* spec);
  void Raise(std::shared_ptr<const Event> event);
  void Observe(WantsCode wants, See see);

  // Handlers call this function when they complete; `ticket` identifies the
  // chain.
  static void OnHandlerDone(pmix_status_t status, pmix_info_t* results,
                            size_t nresults, pmix_op_cbfunc_t cbfunc,
                            void* cbdata, void* ticket);

 private:
  using HandlerPtr = std::shared_ptr<Handler>;
  using ChainPtr = std::shared_ptr<Chain>;

  bool PlaceTakenLocked(const HandlerSpec& spec) const CANOPY_REQUIRES(mu_);
  void TakeCachedLocked(Handler* handler) CANOPY_REQUIRES(mu_);
  void StartLocked(std::shared_ptr<const Event> event,
                   std::vector<HandlerPtr> handlers) CANOPY_REQUIRES(mu_);
  void PostStepLocked(ChainPtr chain) CANOPY_REQUIRES(mu_);
  void Step(const ChainPtr& chain);
  void Call(const ChainPtr& chain);
  void Advance(const ChainPtr& chain, pmix_status_t status,
               const pmix_info_t* results, size_t nresults);
  bool IsObservedLocked(const Event& event) const CANOPY_REQUIRES(mu_);
  // Posts the call of the observer. `results` are the results of the handlers
  // after all of them have run, or null before.
  void PostObserveLocked(const std::shared_ptr<const Event>& event,
                         const InfoList* results) CANOPY_REQUIRES(mu_);
  void RemoveLocked(const HandlerPtr& handler) CANOPY_REQUIRES(mu_);
  static void PlaceNextToNamed(std::vector<HandlerPtr>* handlers);

  // The members that every event needs are first. When many processes receive
  // the same event one after another, each cache line costs a miss.
  const SourcePlaces* const places_;
  Mutex mu_;
  // In chain order. The mutex also guards the members of the handlers, except
  // their specs.
  std::vector<HandlerPtr> handlers_ CANOPY_GUARDED_BY(mu_);
  // Empty after the engine is closed.
  Executor executor_ CANOPY_GUARDED_BY(mu_);
  WantsCode observes_ CANOPY_GUARDED_BY(mu_);
  std::shared_ptr<const See> observer_ CANOPY_GUARDED_BY(mu_);
  int removers_ CANOPY_GUARDED_BY(mu_) = 0;  // number of waiters for idle_
  CondVar idle_;
  std::function<bool()> in_task_;
  size_t next_reference_ CANOPY_GUARDED_BY(mu_) = 0;
  std::deque<std::shared_ptr<const Event>> cache_ CANOPY_GUARDED_BY(mu_);
};

namespace {

// Chains whose current handler has not completed yet, by ticket. The object
// outlives every engine, because a handler may complete at any time, and more
// than once.
template <typename ChainPtr>
class Tickets {
 public:
  void* Issue(ChainPtr chain) {
    const MutexLock lock(mu_);
    waiting_.emplace(++last_, std::move(chain));
    return reinterpret_cast<void*>(last_);
  }
  ChainPtr Redeem(void* ticket) {
    const MutexLock lock(mu_);
    const auto it = waiting_.find(reinterpret_cast<uintptr_t>(ticket));
    if (it == waiting_.end()) return nullptr;
    ChainPtr chain = std::move(it->second);
    waiting_.erase(it);
    return chain;
  }
  // Abandons the chains that `belongs` selects.
  template <typename Belongs>
  void Drop(Belongs belongs) {
    std::vector<ChainPtr> dropped;
    const MutexLock lock(mu_);
    for (auto it = waiting_.begin(); it != waiting_.end();) {
      if (belongs(*it->second)) {
        dropped.push_back(std::move(it->second));
        it = waiting_.erase(it);
      } else {
        ++it;
      }
    }
  }

 private:
  Mutex mu_;
  uintptr_t last_ CANOPY_GUARDED_BY(mu_) = 0;
  std::unordered_map<uintptr_t, ChainPtr> waiting_ CANOPY_GUARDED_BY(mu_);
};

// The object is never destroyed, because a thread may still complete a handler
// while the program exits.
template <typename ChainPtr>
Tickets<ChainPtr>& AllTickets() {
  static auto* tickets = new Tickets<ChainPtr>;
  return *tickets;
}

}  // namespace

void EventEngine::State::Close() {
  std::vector<HandlerPtr> handlers;
  {
    const MutexLock lock(mu_);
    executor_ = nullptr;
    handlers.swap(handlers_);
    cache_.clear();
  }
  AllTickets<ChainPtr>().Drop(
      [this](const Chain& chain) { return chain.state.get() == this; });
}

bool EventEngine::State::PlaceTakenLocked(const HandlerSpec& spec) const {
  const bool alone = spec.category == Category::kFirst ||
                     spec.category == Category::kLast ||
                     spec.place == Place::kFirstInCategory ||
                     spec.place == Place::kLastInCategory;
  if (!alone) return false;
  return std::any_of(handlers_.begin(), handlers_.end(),
                     [&](const HandlerPtr& other) {
                       if (other->spec.category != spec.category) return false;
                       return spec.category == Category::kFirst ||
                              spec.category == Category::kLast ||
                              other->spec.place == spec.place;
                     });
}

void EventEngine::State::TakeCachedLocked(Handler* handler) {
  for (auto it = cache_.begin(); it != cache_.end();) {
    if (Wants(handler->spec, **it, *places_)) {
      handler->missed.push_back(std::move(*it));
      it = cache_.erase(it);
    } else {
      ++it;
    }
  }
}

int EventEngine::State::Add(HandlerSpec spec, size_t* reference) {
  const MutexLock lock(mu_);
  if (PlaceTakenLocked(spec)) return PMIX_ERR_EVENT_REGISTRATION;
  auto handler = std::make_shared<Handler>();
  handler->reference = next_reference_++;
  handler->position =
      PositionOf(spec, static_cast<int64_t>(handler->reference));
  handler->spec = std::move(spec);
  TakeCachedLocked(handler.get());
  *reference = handler->reference;
  const auto at =
      std::upper_bound(handlers_.begin(), handlers_.end(), handler,
                       [](const HandlerPtr& a, const HandlerPtr& b) {
                         return a->position < b->position;
                       });
  handlers_.insert(at, std::move(handler));
  return PMIX_SUCCESS;
}

void EventEngine::State::Activate(size_t reference) {
  const MutexLock lock(mu_);
  for (const HandlerPtr& handler : handlers_) {
    if (handler->reference != reference) continue;
    handler->active = true;
    for (auto& event : std::exchange(handler->missed, {})) {
      StartLocked(std::move(event), {handler});
    }
    return;
  }
}

void EventEngine::State::RemoveLocked(const HandlerPtr& handler) {
  handler->removed = true;
  std::erase(handlers_, handler);
}

int EventEngine::State::Remove(size_t reference, HandlerSpec* spec) {
  const MutexLock lock(mu_);
  const auto it = std::find_if(
      handlers_.begin(), handlers_.end(),
      [&](const HandlerPtr& h) { return h->reference == reference; });
  if (it == handlers_.end()) return PMIX_ERR_NOT_FOUND;
  const HandlerPtr handler = *it;
  RemoveLocked(handler);
  *spec = handler->spec;
  // A handler may remove itself, or another handler's task may remove it;
  // waiting here would then deadlock.
  if (in_task_()) return PMIX_SUCCESS;
  ++removers_;
  while (handler->running > 0) idle_.Wait(mu_);
  --removers_;
  return PMIX_SUCCESS;
}

void EventEngine::State::PlaceNextToNamed(std::vector<HandlerPtr>* handlers) {
  if (handlers->size() < 2) return;
  const std::vector<HandlerPtr> order = *handlers;
  for (const HandlerPtr& handler : order) {
    const bool before = !handler->spec.before.empty();
    const std::string& name =
        before ? handler->spec.before : handler->spec.after;
    if (name.empty()) continue;
    const auto named = std::find_if(
        handlers->begin(), handlers->end(), [&](const HandlerPtr& other) {
          return other != handler && other->spec.name == name;
        });
    if (named == handlers->end()) continue;
    const HandlerPtr anchor = *named;
    std::erase(*handlers, handler);
    auto at = std::find(handlers->begin(), handlers->end(), anchor);
    handlers->insert(before ? at : at + 1, handler);
  }
}

void EventEngine::State::Raise(std::shared_ptr<const Event> event) {
  if (!event->receivers.empty() &&
      !MatchesAny(event->receivers, places_->self())) {
    return;
  }
  const MutexLock lock(mu_);
  PostObserveLocked(event, nullptr);
  std::vector<HandlerPtr> wanting;
  bool missed = false;
  for (const HandlerPtr& handler : handlers_) {
    if (!Wants(handler->spec, *event, *places_)) continue;
    if (handler->active) {
      wanting.push_back(handler);
    } else {
      handler->missed.push_back(event);
      missed = true;
    }
  }
  if (!wanting.empty()) {
    PlaceNextToNamed(&wanting);
    StartLocked(std::move(event), std::move(wanting));
    return;
  }
  const InfoList none;
  PostObserveLocked(event, &none);
  if (!missed && event->cacheable) {
    cache_.push_back(std::move(event));
    if (cache_.size() > kMaxCached) cache_.pop_front();
  }
}

void EventEngine::State::Observe(WantsCode wants, See see) {
  const MutexLock lock(mu_);
  observes_ = std::move(wants);
  observer_ = std::make_shared<const See>(std::move(see));
}

bool EventEngine::State::IsObservedLocked(const Event& event) const {
  return observer_ != nullptr && executor_ && observes_(event.status);
}

void EventEngine::State::PostObserveLocked(
    const std::shared_ptr<const Event>& event, const InfoList* results) {
  if (!IsObservedLocked(*event)) return;
  std::optional<InfoList> copy;
  if (results != nullptr) copy = *results;
  executor_([see = observer_, event, results = std::move(copy)] {
    (*see)(*event, results ? &*results : nullptr);
  });
}

void EventEngine::State::StartLocked(std::shared_ptr<const Event> event,
                                     std::vector<HandlerPtr> handlers) {
  auto chain = std::make_shared<Chain>();
  chain->state = shared_from_this();
  chain->event = std::move(event);
  chain->handlers = std::move(handlers);
  PostStepLocked(std::move(chain));
}

void EventEngine::State::PostStepLocked(ChainPtr chain) {
  if (!executor_) return;
  executor_([chain = std::move(chain)] { chain->state->Step(chain); });
}

// Finds the next handler that has not been removed and runs it.
void EventEngine::State::Step(const ChainPtr& chain) {
  {
    const MutexLock lock(mu_);
    chain->current = nullptr;
    while (chain->next < chain->handlers.size()) {
      const HandlerPtr handler = chain->handlers[chain->next++];
      if (handler->removed) continue;
      if (handler->spec.one_shot) RemoveLocked(handler);
      ++handler->running;
      chain->current = handler;
      break;
    }
    if (chain->current == nullptr) {
      PostObserveLocked(chain->event, &chain->results);
    }
  }
  if (chain->current != nullptr) Call(chain);
}

void EventEngine::State::Call(const ChainPtr& chain) {
  // The chain continues when the handler completes, which may be during the
  // call.
  const HandlerPtr handler = chain->current;
  const std::shared_ptr<const Event> event = chain->event;
  chain->infos = event->infos;
  if (!handler->spec.name.empty()) {
    chain->infos.Add(PMIX_EVENT_HDLR_NAME, Value::String(handler->spec.name));
  }
  if (handler->spec.has_return_object) {
    pmix_value_t object = {};
    object.type = PMIX_POINTER;
    object.data.ptr = handler->spec.return_object;
    chain->infos.Add(PMIX_EVENT_RETURN_OBJECT, Value::Adopt(&object));
  }
  const pmix_proc_t source = ToC(event->source);
  void* ticket = AllTickets<ChainPtr>().Issue(chain);
  handler->spec.function(
      handler->reference, event->status, &source,
      chain->infos.empty() ? nullptr : chain->infos.mutable_data(),
      chain->infos.size(),
      chain->results.empty() ? nullptr : chain->results.mutable_data(),
      chain->results.size(), &State::OnHandlerDone, ticket);
  const MutexLock lock(mu_);
  --handler->running;
  if (removers_ > 0) idle_.NotifyAll();
}

void EventEngine::State::OnHandlerDone(pmix_status_t status,
                                       pmix_info_t* results, size_t nresults,
                                       pmix_op_cbfunc_t cbfunc, void* cbdata,
                                       void* ticket) {
  const ChainPtr chain = AllTickets<ChainPtr>().Redeem(ticket);
  if (chain != nullptr) {
    chain->state->Advance(chain, status, results, nresults);
  }
  if (cbfunc != nullptr) cbfunc(PMIX_SUCCESS, cbdata);
}

void EventEngine::State::Advance(const ChainPtr& chain, pmix_status_t status,
                                 const pmix_info_t* results, size_t nresults) {
  const MutexLock lock(mu_);
  const bool ends = status == PMIX_EVENT_ACTION_COMPLETE;
  // If no observer sees the event, the results of its last handler are not
  // read.
  if (ends && !IsObservedLocked(*chain->event)) return;
  chain->results.Add(chain->current->spec.name, Value::Status(status));
  for (size_t i = 0; results != nullptr && i < nresults; ++i) {
    chain->results.Append(results[i]);
  }
  if (!ends) return PostStepLocked(chain);
  PostObserveLocked(chain->event, &chain->results);
}

EventEngine::EventEngine(const SourcePlaces* places, Executor executor,
                         std::function<bool()> in_task)
    : state_(std::make_shared<State>(places, std::move(executor),
                                     std::move(in_task))) {}

EventEngine::~EventEngine() { state_->Close(); }

int EventEngine::Add(HandlerSpec spec, size_t* reference) {
  return state_->Add(std::move(spec), reference);
}

void EventEngine::Activate(size_t reference) { state_->Activate(reference); }

int EventEngine::Remove(size_t reference, HandlerSpec* spec) {
  return state_->Remove(reference, spec);
}

void EventEngine::Observe(WantsCode wants, See see) {
  state_->Observe(std::move(wants), std::move(see));
}

void EventEngine::Raise(std::shared_ptr<const Event> event) {
  state_->Raise(std::move(event));
}

}  // namespace canopy::client
