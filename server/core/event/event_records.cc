#include "server/core/event/event_records.h"

#include <utility>

#include "common/ids.h"
#include "common/wire.h"
#include "server/core/journal_key.h"

namespace canopy::core {

namespace {

std::string KeyOf(uint64_t count) {
  WireWriter key = BeginKey(JournalRecordType::kEvent);
  key.Uint(count % kEventsInJournal);
  return key.Take();
}

}  // namespace

PersistRecord EncodeEvent(const EventRecord& record) {
  const EventMessage& event = record.event;
  WireWriter value;
  value.Uint(record.count);
  value.Uint(event.origin);
  value.Uint(event.number);
  value.Uint(event.request);
  value.Int(event.status);
  value.Proc(event.source);
  value.Uint(event.range);
  value.Uint(event.targets.size());
  for (const ProcId& target : event.targets) value.Proc(target);
  value.String(event.info.view());
  value.Uint(record.recovered);
  return {event.source.nspace, KeyOf(record.count), Bytes(value.Take())};
}

PersistRecord NoEvent(const std::string& nspace, uint64_t count) {
  return {nspace, KeyOf(count), Bytes()};
}

std::optional<EventRecord> DecodeEvent(const PersistedRecord& record) {
  const auto key = ParseKey(record.key);
  if (!key || key->type != JournalRecordType::kEvent) return std::nullopt;
  WireReader in(record.value.view());
  EventRecord out;
  out.count = in.Uint();
  out.event.origin = in.Uint32();
  out.event.number = in.Uint();
  out.event.request = in.Uint();
  out.event.status = static_cast<int>(in.Int());
  out.event.source = in.Proc();
  const uint64_t range = in.Uint();
  out.event.range = static_cast<uint8_t>(range);
  out.event.targets.resize(in.Count(2));
  for (ProcId& target : out.event.targets) target = in.Proc();
  out.event.info = Bytes(std::string(in.String()));
  // The previous release did not write this field.
  if (!in.done()) out.recovered = in.Uint32();
  if (!in.done() || range > UINT8_MAX) return std::nullopt;
  return out;
}

}  // namespace canopy::core
