#include "server/core/event/event_records.h"

#include "common/describe_procs.h"
#include "common/ids.h"
#include "server/core/journal_key.h"

namespace canopy::core {
namespace {

// The value of a record. It has its own form, because the message of the same
// event does not carry the number of the request.
struct StoredEvent {
  EventRecord record;
};

template <typename V>
void Describe(V& v, wire::Is<StoredEvent> auto& m) {
  auto& [event, count, recovered] = m.record;
  v.Field(1, count);
  v.Field(2, event.origin);
  v.Field(3, event.number);
  v.Field(4, event.request);
  v.Field(5, event.status);
  v.Field(6, event.source);
  v.Field(7, event.range);
  v.Field(8, event.targets);
  v.Field(9, event.info);
  v.Field(10, recovered);
  v.Field(11, event.user);
}

std::string KeyAt(uint64_t count) {
  const auto slot = static_cast<uint32_t>(count % kEventsInJournal);
  return KeyOf(JournalRecordType::kEvent, JournalSlot{slot});
}

}  // namespace

PersistRecord EncodeEvent(const EventRecord& record) {
  return {record.event.source.nspace, KeyAt(record.count),
          Bytes(wire::Encode(StoredEvent{record}))};
}

PersistRecord NoEvent(const std::string& nspace, uint64_t count) {
  return {nspace, KeyAt(count), Bytes()};
}

std::optional<EventRecord> DecodeEvent(const PersistedRecord& record) {
  StoredEvent stored;
  if (!IsKeyOf(JournalRecordType::kEvent, record.key) ||
      !wire::Decode(record.value, &stored) ||
      stored.record.event.source.nspace.empty()) {
    return std::nullopt;
  }
  return stored.record;
}

}  // namespace canopy::core
