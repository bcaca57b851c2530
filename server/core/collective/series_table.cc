#include "server/core/collective/series_table.h"

namespace canopy::core {

Series& SeriesTable::FindOrAdd(const CollectiveId& id) {
  const auto it = series_.find(id);
  if (it != series_.end()) return it->second;
  return Add(id, id.participants.front().nspace);
}

Series* SeriesTable::Find(const CollectiveId& id) {
  const auto it = series_.find(id);
  return it == series_.end() ? nullptr : &it->second;
}

Series* SeriesTable::FindOrAddFor(const std::string& nspace,
                                  const CollectiveId& id) {
  const auto it = series_.find(id);
  if (it != series_.end()) return &it->second;
  const auto held = held_.find(nspace);
  const Held have = held == held_.end() ? Held() : held->second;
  if (have.series >= kMaxSeriesOfJob ||
      have.participants + id.participants.size() > kMaxParticipantsOfJob) {
    return nullptr;
  }
  return &Add(id, nspace);
}

Series& SeriesTable::Add(const CollectiveId& id, const std::string& nspace) {
  Series& series = series_[id];
  series.id = CollectiveId{id.op, id.participants, 0, id.name};
  series.charged_to = nspace;
  Held& held = held_[nspace];
  ++held.series;
  held.participants += id.participants.size();
  return series;
}

SeriesTable::Map::iterator SeriesTable::Erase(Map::iterator it) {
  const Series& series = it->second;
  const auto held = held_.find(series.charged_to);
  held->second.participants -= series.id.participants.size();
  if (--held->second.series == 0) held_.erase(held);
  std::erase_if(deadlines_, [&](const auto& item) {
    return item.second.series == &series;
  });
  return series_.erase(it);
}

void SeriesTable::Erase(const Series& series) {
  Erase(series_.find(series.id));
}

void SeriesTable::AddDeadline(Series& series, uint64_t sequence, TimeNs since,
                              TimeNs when, std::vector<DeadlineKey>* keys) {
  const DeadlineKey key{when, deadline_number_++};
  deadlines_.emplace(key, Limit{&series, sequence, since});
  keys->push_back(key);
}

void SeriesTable::Cancel(const std::vector<DeadlineKey>& keys) {
  for (const DeadlineKey& key : keys) deadlines_.erase(key);
}

TimeNs SeriesTable::NextDeadline() const {
  return deadlines_.empty() ? kNever : deadlines_.begin()->first.first;
}

std::optional<SeriesTable::Expired> SeriesTable::TakeExpired(TimeNs now) {
  if (deadlines_.empty() || NextDeadline() > now) return std::nullopt;
  const auto [key, limit] = *deadlines_.begin();
  deadlines_.erase(deadlines_.begin());
  return Expired{key, limit.series, limit.sequence, limit.since};
}

}  // namespace canopy::core
