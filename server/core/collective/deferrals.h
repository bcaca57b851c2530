// Arrivals and messages of a series that wait for the map of a job.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_DEFERRALS_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_DEFERRALS_H_

#include <cstddef>
#include <vector>

#include "server/core/collective/series.h"
#include "server/core/collective/series_table.h"
#include "server/core/step/client_id.h"
#include "server/core/step/step_context.h"

namespace canopy::core {

// Limit of the number of arrivals and messages that wait for a job map. Beyond
// it, arrivals are still deferred, but a message is refused, and its collective
// fails.
inline constexpr size_t kMaxDeferred = 4096;

// The table has the deadlines, and outlives this object. Used by one thread.
class Deferrals {
 public:
  explicit Deferrals(SeriesTable& table) : table_(table) {}

  // Defers `one`. A message that exceeds kMaxDeferred is dropped and recorded
  // in Series::refused. Arrivals of clients count against the limits of their
  // jobs.
  void Add(const StepContext& step, Series& series, DeferredCollective one);
  // Removes and returns the deferred arrivals and messages. Called when this
  // agent has the maps.
  std::vector<DeferredCollective> Take(Series& series);
  // Replies to arrivals with `status`. Called when the maps will not come.
  void Fail(const StepContext& step, Series& series, int status);
  // Replies to arrivals whose deadline has passed.
  void Expire(const StepContext& step, Series& series);
  // Drops the arrivals of a client whose connection has ended.
  void Drop(Series& series, ClientId client);

 private:
  SeriesTable& table_;
  size_t held_ = 0;  // arrivals and messages deferred in all series
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_DEFERRALS_H_
