// Events that processes of this node have raised, as records of their job's
// journal: a successor passes on those that may not have left the agent.
#ifndef CANOPY_SERVER_CORE_EVENT_EVENT_RECORDS_H_
#define CANOPY_SERVER_CORE_EVENT_EVENT_RECORDS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "server/core/messages.h"
#include "server/core/step/persisted_state.h"

namespace canopy::core {

// So many of a job's events are in its journal: the latest.
inline constexpr uint64_t kEventsInJournal = 64;

struct EventRecord {
  EventMessage event;
  uint64_t count = 0;      // of the job's events before this one
  uint32_t recovered = 0;  // how often it was
};
PersistRecord EncodeEvent(const EventRecord& record);
// In place of the record, which is not needed any more.
PersistRecord NoEvent(const std::string& nspace, uint64_t count);
// Nothing when it is another kind of record, or malformed.
std::optional<EventRecord> DecodeEvent(const PersistedRecord& record);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_EVENT_EVENT_RECORDS_H_
