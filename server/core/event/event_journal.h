// Decides which events of this node's processes are in the journals of their
// jobs.
#ifndef CANOPY_SERVER_CORE_EVENT_EVENT_JOURNAL_H_
#define CANOPY_SERVER_CORE_EVENT_EVENT_JOURNAL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "common/recent_events.h"
#include "server/core/event/event_records.h"
#include "server/core/messages.h"
#include "server/core/step/persisted_state.h"
#include "server/core/step/step_context.h"

namespace canopy::core {

// A record is erased after this number of later events. Until then, an agent
// that has received the event still recognises it if a successor distributes it
// again (kRecentOfProcess is larger). Each recovery halves the number, so that
// the total number of events stays below twice this value.
inline constexpr uint64_t kEventsUntilErased = kRecentOfProcess / 4;

// Not synchronised.
class EventJournal {
 public:
  // While disabled, nothing is persisted.
  void set_enabled(bool enabled) { enabled_ = enabled; }

  // Called before the event is distributed, so that a successor distributes it
  // again.
  void Persist(const StepContext& step, const EventMessage& event);
  // Returns the event in a predecessor's record of the job; no value if the
  // record is of another type or malformed.
  std::optional<EventMessage> Recover(const StepContext& step,
                                      const std::string& nspace,
                                      const PersistedRecord& record);
  // Counts an event that is new to this agent.
  void OnEvent(const StepContext& step);
  void OnJobRemoved(const std::string& nspace) { counts_.erase(nspace); }

 private:
  struct Place {
    std::string nspace;
    uint64_t count = 0;
  };

  void Write(const StepContext& step, const EventRecord& record);

  bool enabled_ = false;
  // The count (EventRecord::count) of the next record of each job. Erased
  // records are not subtracted.
  std::map<std::string, uint64_t> counts_;
  uint64_t events_ = 0;
  // The event count at which each record is erased.
  std::multimap<uint64_t, Place> due_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_EVENT_EVENT_JOURNAL_H_
