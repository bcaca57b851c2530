#include "server/core/event/event_journal.h"

#include <algorithm>
#include <utility>

namespace canopy::core {

void EventJournal::Persist(const StepContext& step, const EventMessage& event) {
  if (enabled_) Write(step, {event, counts_[event.source.nspace]++});
}

void EventJournal::Write(const StepContext& step, const EventRecord& record) {
  const uint64_t left = kEventsUntilErased >> std::min(record.recovered, 63u);
  due_.emplace(events_ + left, Place{record.event.source.nspace, record.count});
  step.out.push_back(EncodeEvent(record));
}

std::optional<EventMessage> EventJournal::Recover(
    const StepContext& step, const std::string& nspace,
    const PersistedRecord& record) {
  std::optional<EventRecord> read = DecodeEvent(record);
  if (!read || read->event.source.nspace != nspace) return std::nullopt;
  uint64_t& count = counts_[nspace];
  count = std::max(count, read->count + 1);
  ++read->recovered;
  EventMessage event = read->event;
  if (enabled_) Write(step, *read);
  return event;
}

void EventJournal::OnEvent(const StepContext& step) {
  ++events_;
  while (!due_.empty() && due_.begin()->first < events_) {
    const Place place = std::move(due_.begin()->second);
    due_.erase(due_.begin());
    const auto count = counts_.find(place.nspace);
    // The job is over, or another event has taken this record's place.
    if (count == counts_.end() ||
        count->second > place.count + kEventsInJournal) {
      continue;
    }
    step.out.push_back(NoEvent(place.nspace, place.count));
  }
}

}  // namespace canopy::core
