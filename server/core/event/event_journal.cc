#include "server/core/event/event_journal.h"

#include <algorithm>
#include <utility>

namespace canopy::core {

void EventJournal::Persist(const EventMessage& event, Actions* actions) {
  if (enabled_) Write({event, counts_[event.source.nspace]++}, actions);
}

void EventJournal::Write(const EventRecord& record, Actions* actions) {
  const uint64_t left = kEventsUntilErased >> std::min(record.recovered, 63u);
  due_.emplace(events_ + left, Place{record.event.source.nspace, record.count});
  actions->push_back(EncodeEvent(record));
}

std::optional<EventMessage> EventJournal::Recover(const std::string& nspace,
                                                  const PersistedRecord& record,
                                                  Actions* actions) {
  std::optional<EventRecord> read = DecodeEvent(record);
  if (!read || read->event.source.nspace != nspace) return std::nullopt;
  uint64_t& count = counts_[nspace];
  count = std::max(count, read->count + 1);
  ++read->recovered;
  EventMessage event = read->event;
  if (enabled_) Write(*read, actions);
  return event;
}

void EventJournal::OnEvent(Actions* actions) {
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
    actions->push_back(NoEvent(place.nspace, place.count));
  }
}

}  // namespace canopy::core
