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
  series.number = ++last_number_;
  AddJob(series, nspace);
  for (const ProcId& proc : series.id.participants) {
    if (proc.nspace != series.jobs.back()) AddJob(series, proc.nspace);
  }
  return series;
}

void SeriesTable::AddJob(Series& series, const std::string& nspace) {
  if (!by_job_[nspace].emplace(series.number, &series).second) return;
  series.jobs.push_back(nspace);
}

Series* SeriesTable::NextOf(const std::string& nspace, uint64_t number) const {
  const auto of_job = by_job_.find(nspace);
  if (of_job == by_job_.end()) return nullptr;
  const auto it = of_job->second.lower_bound(number);
  return it == of_job->second.end() ? nullptr : it->second;
}

void SeriesTable::Erase(const Series& series) {
  const auto held = held_.find(series.charged_to);
  held->second.participants -= series.id.participants.size();
  if (--held->second.series == 0) held_.erase(held);
  for (const std::string& nspace : series.jobs) {
    const auto of_job = by_job_.find(nspace);
    of_job->second.erase(series.number);
    if (of_job->second.empty()) by_job_.erase(of_job);
  }
  for (const DeadlineKey& key : series.deadlines) deadlines_.erase(key);
  series_.erase(series_.find(series.id));
}

void SeriesTable::AddDeadline(Series& series, uint64_t sequence, TimeNs since,
                              TimeNs when, std::vector<DeadlineKey>* keys) {
  const DeadlineKey key{when, deadline_number_++};
  deadlines_.emplace(key, Limit{&series, sequence, since});
  series.deadlines.insert(key);
  keys->push_back(key);
}

void SeriesTable::Cancel(const std::vector<DeadlineKey>& keys) {
  for (const DeadlineKey& key : keys) {
    const auto it = deadlines_.find(key);
    if (it == deadlines_.end()) continue;
    it->second.series->deadlines.erase(key);
    deadlines_.erase(it);
  }
}

TimeNs SeriesTable::NextDeadline() const {
  return deadlines_.empty() ? kNever : deadlines_.begin()->first.first;
}

std::optional<SeriesTable::Expired> SeriesTable::TakeExpired(TimeNs now) {
  if (deadlines_.empty() || NextDeadline() > now) return std::nullopt;
  const auto [key, limit] = *deadlines_.begin();
  deadlines_.erase(deadlines_.begin());
  limit.series->deadlines.erase(key);
  return Expired{key, limit.series, limit.sequence, limit.since};
}

}  // namespace canopy::core
