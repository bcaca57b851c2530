// The series that an agent holds, their deadlines, and what a job may have of
// them.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_SERIES_TABLE_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_SERIES_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "server/core/collective/series.h"
#include "server/core/messages.h"
#include "server/core/step/clock.h"

namespace canopy::core {

// What one job's processes may make an agent hold, so that no job takes the
// place of another: series, and participants named in all of them together.
inline constexpr size_t kMaxSeriesOfJob = 65536;
inline constexpr size_t kMaxParticipantsOfJob = size_t{1} << 22;

struct SameSeries {
  bool operator()(const CollectiveId& a, const CollectiveId& b) const {
    return std::tie(a.op, a.name, a.participants) <
           std::tie(b.op, b.name, b.participants);
  }
};

// References to a series stay valid until it is erased. One thread.
class SeriesTable {
 public:
  using Map = std::map<CollectiveId, Series, SameSeries>;
  // In place of a sequence: the deadline of a deferred arrival.
  static constexpr uint64_t kDeferred = UINT64_MAX;

  // A deadline that has passed.
  struct Expired {
    DeadlineKey key;
    Series* series = nullptr;
    uint64_t sequence = 0;
    TimeNs since = 0;
  };

  Map& all() { return series_; }
  const Map& all() const { return series_; }
  size_t size() const { return series_.size(); }

  // The sequence of `id` does not matter. What other agents and the
  // predecessor report is bounded where it began.
  Series& FindOrAdd(const CollectiveId& id);
  // Null when there is none.
  Series* Find(const CollectiveId& id);
  // For a process of job `nspace`; null when that would exceed its limits.
  Series* FindOrAddFor(const std::string& nspace, const CollectiveId& id);
  // With its deadlines; the next one.
  Map::iterator Erase(Map::iterator it);
  void Erase(const Series& series);

  // Of a limit that counts from `since`. Appends the key to *keys.
  void AddDeadline(Series& series, uint64_t sequence, TimeNs since, TimeNs when,
                   std::vector<DeadlineKey>* keys);
  void Cancel(const std::vector<DeadlineKey>& keys);
  TimeNs NextDeadline() const;
  // Takes off the first one that is not after `now`. The sequence need not be
  // active any more.
  std::optional<Expired> TakeExpired(TimeNs now);
  size_t num_deadlines() const { return deadlines_.size(); }

 private:
  struct Limit {
    Series* series = nullptr;
    uint64_t sequence = 0;
    TimeNs since = 0;
  };
  struct Held {
    size_t series = 0;
    size_t participants = 0;
  };

  Series& Add(const CollectiveId& id, const std::string& nspace);

  Map series_;
  std::map<std::string, Held> held_;  // by job
  std::map<DeadlineKey, Limit> deadlines_;
  uint64_t deadline_number_ = 0;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_SERIES_TABLE_H_
