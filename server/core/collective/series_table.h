// The series that an agent holds, their deadlines, and the limits of each job.
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

// Limits for one job at an agent, so that no job exhausts the memory of others:
// the number of its series, and the number of participants named in all of them
// together.
inline constexpr size_t kMaxSeriesOfJob = 65536;
inline constexpr size_t kMaxParticipantsOfJob = size_t{1} << 22;

struct SameSeries {
  bool operator()(const CollectiveId& a, const CollectiveId& b) const {
    return std::tie(a.op, a.name, a.participants) <
           std::tie(b.op, b.name, b.participants);
  }
};

// References to a series stay valid until it is erased. Used by one thread.
class SeriesTable {
 public:
  using Map = std::map<CollectiveId, Series, SameSeries>;
  // Used in place of a sequence for the deadline of a deferred arrival.
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

  // Returns the series, which is added if it is new. Ignores the sequence of
  // `id`. Series reported by other agents or a predecessor are not limited
  // here, because they were limited at the agents where they began.
  Series& FindOrAdd(const CollectiveId& id);
  // Returns the series; null if there is no such series.
  Series* Find(const CollectiveId& id);
  // Like FindOrAdd, for a process of job `nspace`. Returns null if a new series
  // would exceed the job's limits.
  Series* FindOrAddFor(const std::string& nspace, const CollectiveId& id);
  // Erases the series with its deadlines.
  void Erase(const Series& series);

  // Calls `visit` for each series that concerns the job: the series names the
  // job, a process of the job has begun it, or AddJob has added the job.
  // `visit` may erase any series.
  template <typename F>
  void ForEachOf(const std::string& nspace, F&& visit) {
    uint64_t number = 0;
    while (Series* const series = NextOf(nspace, number)) {
      number = series->number + 1;
      visit(*series);
    }
  }
  // Returns the job's first series with at least this number; null if there is
  // none.
  Series* NextOf(const std::string& nspace, uint64_t number) const;
  // Records that a process of the job waits for the members of the series.
  void AddJob(Series& series, const std::string& nspace);

  // Adds a deadline at `when`, for a limit that counts from `since`. Appends
  // its key to *keys.
  void AddDeadline(Series& series, uint64_t sequence, TimeNs since, TimeNs when,
                   std::vector<DeadlineKey>* keys);
  void Cancel(const std::vector<DeadlineKey>& keys);
  TimeNs NextDeadline() const;
  // Removes and returns the first deadline that is not after `now`. Its
  // sequence need not be active any more.
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
  // The series by job and number, so that ends and removals of one job do not
  // search the series of others.
  std::map<std::string, std::map<uint64_t, Series*>, std::less<>> by_job_;
  uint64_t last_number_ = 0;
  std::map<DeadlineKey, Limit> deadlines_;
  uint64_t deadline_number_ = 0;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_SERIES_TABLE_H_
