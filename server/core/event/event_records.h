// Events raised by processes of this node, as records in their job's journal: a
// successor distributes those that may not have left the agent.
#ifndef CANOPY_SERVER_CORE_EVENT_EVENT_RECORDS_H_
#define CANOPY_SERVER_CORE_EVENT_EVENT_RECORDS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "server/core/messages.h"
#include "server/core/step/persisted_state.h"

namespace canopy::core {

// Maximum number of events of one job that the journal keeps; the latest ones
// are kept.
inline constexpr uint64_t kEventsInJournal = 64;

struct EventRecord {
  EventMessage event;
  uint64_t count = 0;      // events of the job before this one
  uint32_t recovered = 0;  // number of times the event was recovered
};
PersistRecord EncodeEvent(const EventRecord& record);
// Returns the record that erases the record of an event which is no longer
// needed.
PersistRecord NoEvent(const std::string& nspace, uint64_t count);
// Decodes a record. Returns no value if the record is of another type or
// malformed.
std::optional<EventRecord> DecodeEvent(const PersistedRecord& record);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_EVENT_EVENT_RECORDS_H_
