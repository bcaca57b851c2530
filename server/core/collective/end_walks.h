// Ends, in slices, the collectives that wait for processes that are gone.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_END_WALKS_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_END_WALKS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/ids.h"
#include "server/core/collective/collective_progress.h"
#include "server/core/collective/series.h"
#include "server/core/collective/series_table.h"
#include "server/core/step/clock.h"
#include "server/core/step/step_context.h"

namespace canopy::core {

// The ends of processes may cause much work at the same time, because a process
// may take part in as many collectives as its job's limits allow, and a job's
// processes end together. Add and Continue therefore work for some milliseconds
// only; later calls of Continue do the rest. Until then a collective that waits
// for a process that is gone stays active, because it cannot succeed without
// that process. Used by one thread.
class EndWalks {
 public:
  // The work of one slice, in units that take about a microsecond each.
  static constexpr size_t kSlice = 3000;

  // The parts outlive this object.
  EndWalks(SeriesTable& table, CollectiveProgress& progress)
      : table_(table), progress_(progress) {}

  // Adds a process that is gone. `lost` is true if the process has lost its
  // connection but may be alive. Only the agent of such a process can fail the
  // collectives that wait for it, so that agent also begins and fails the next
  // collective at which the process would arrive. The calls of one step share a
  // slice.
  void Add(const StepContext& step, const ProcId& proc, bool lost);
  // Does the work of a slice, which all jobs with pending work share.
  void Continue(const StepContext& step);
  // Does all pending work for the job.
  void Finish(const StepContext& step, const std::string& nspace);
  void DropJob(const std::string& nspace) { walks_.erase(nspace); }
  bool empty() const { return walks_.empty(); }

 private:
  struct Gone {
    ProcId proc;
    bool lost = false;
  };
  // A pass over the series that name a job, in the order of their numbers.
  struct Walk {
    std::vector<Gone> gone;    // the processes that this pass handles
    std::vector<Gone> later;   // the processes that the next pass handles
    uint64_t series = 0;       // number of the series that is next
    bool begun = false;        // that series' suspects were added
    uint64_t sequence = 0;     // the collective in that series that is next
    std::vector<ProcId> lost;  // processes whose loss is not handled yet
  };

  // Return false when the units are used up before the work is done.
  bool Run(const StepContext& step, const std::string& nspace, size_t* units);
  bool Visit(const StepContext& step, Series& series, Walk* walk,
             size_t* units);
  static void Begin(Series& series, Walk* walk, size_t* units);
  void FailNext(const StepContext& step, Series& series, const ProcId& lost);

  SeriesTable& table_;
  CollectiveProgress& progress_;
  std::map<std::string, Walk> walks_;  // by job
  TimeNs slice_time_ = -1;
  size_t slice_left_ = 0;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_END_WALKS_H_
