// Arrivals and messages that wait, in their series, for the map of a job.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_DEFERRALS_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_DEFERRALS_H_

#include <cstddef>
#include <vector>

#include "server/core/collective/series.h"
#include "server/core/collective/series_table.h"
#include "server/core/step/client_id.h"
#include "server/core/step/step_context.h"

namespace canopy::core {

// Messages that may wait for a job map to arrive; the collectives of more fail.
inline constexpr size_t kMaxDeferred = 4096;

// The table, in which their deadlines are, outlives it. One thread.
class Deferrals {
 public:
  explicit Deferrals(SeriesTable& table) : table_(table) {}

  // A message for which there is no room is dropped, and recorded in
  // Series::refused. What clients may have is limited by their jobs.
  void Add(StepContext& step, Series& series, DeferredCollective one);
  // The maps are here.
  std::vector<DeferredCollective> Take(Series& series);
  // The maps will not come: arrivals are answered with `status`.
  void Fail(StepContext& step, Series& series, int status);
  // Answers arrivals whose deadline has passed.
  void Expire(StepContext& step, Series& series);
  // The connection ended.
  void Drop(Series& series, ClientId client);

 private:
  SeriesTable& table_;
  size_t held_ = 0;  // of all series
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_DEFERRALS_H_
