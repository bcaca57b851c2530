// Which events of a node's processes are in the journals of their jobs.
#ifndef CANOPY_SERVER_CORE_EVENT_EVENT_JOURNAL_H_
#define CANOPY_SERVER_CORE_EVENT_EVENT_JOURNAL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "common/recent_events.h"
#include "server/core/event/event_records.h"
#include "server/core/messages.h"
#include "server/core/step/action.h"
#include "server/core/step/persisted_state.h"

namespace canopy::core {

// After so many later events a record is erased: whoever has had the event
// recognises it, should a successor distribute it again, as long as it knows
// more of them (kRecentOfProcess). With each recovery it is half of that, so
// that all of them together are less than twice as many.
inline constexpr uint64_t kEventsUntilErased = kRecentOfProcess / 4;

// Not synchronised.
class EventJournal {
 public:
  // Without `enabled`, nothing is persisted.
  void set_enabled(bool enabled) { enabled_ = enabled; }

  // Before anything is done with it, so that none of it is done in vain.
  void Persist(const EventMessage& event, Actions* actions);
  // The event of a predecessor's record of that job. Nothing: it is none.
  std::optional<EventMessage> Recover(const std::string& nspace,
                                      const PersistedRecord& record,
                                      Actions* actions);
  // An event has come here, or was raised, that is none of an earlier one.
  void OnEvent(Actions* actions);
  void OnJobRemoved(const std::string& nspace) { counts_.erase(nspace); }

 private:
  struct Place {
    std::string nspace;
    uint64_t count = 0;
  };

  void Write(const EventRecord& record, Actions* actions);

  bool enabled_ = false;
  // Of each job, how many events of it were persisted.
  std::map<std::string, uint64_t> counts_;
  uint64_t events_ = 0;
  std::multimap<uint64_t, Place> due_;  // when to erase which
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_EVENT_EVENT_JOURNAL_H_
