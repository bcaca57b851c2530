// Restarts of a job's local ranks: a new process replaces a failed one.
#ifndef CANOPY_SERVER_CORE_JOB_RESTARTS_H_
#define CANOPY_SERVER_CORE_JOB_RESTARTS_H_

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "common/ids.h"
#include "server/core/messages.h"
#include "server/core/step/clock.h"
#include "server/core/step/process_inputs.h"

namespace canopy::core {

// Minimum interval between the starts of a rank's processes from the second
// restart on, so that a rank that fails at once does not keep the node busy.
inline constexpr TimeNs kRestartInterval = 1'000'000'000;

// A successor needs no record: the exits show how many processes a rank has
// had, and exits whose restart had not begun are reported to the successor
// again. The class only keeps the schedule; the caller starts the processes.
// Not synchronised.
class Restarts {
 public:
  // `limit` is JobSpec::max_restarts.
  explicit Restarts(uint32_t limit) : limit_(limit) {}

  // Returns whether the process has failed and its rank may get a new process.
  bool Allows(const ProcExit& exit) const;
  // Schedules a new process of the rank, which is due at once or after
  // kRestartInterval.
  void Add(TimeNs now, const ProcExit& exit);
  // Removes and returns the exits whose next process is to start now.
  std::vector<ProcExit> TakeDue(TimeNs now);
  // Returns the time of the next scheduled process; kNever if none is
  // scheduled.
  TimeNs NextDeadline() const;

  // Holds back the end of a stream while a new process of the rank may follow.
  // Returns true if the end is held back; false if it counts now.
  bool HoldEnd(const LocalOutput& end);
  // Drops the held ends. Called when a new process follows.
  void DropEnds(Rank rank) { ends_.erase(rank); }
  // Removes and returns the held ends. Called when no process follows.
  std::vector<LocalOutput> TakeEnds(Rank rank);

 private:
  struct Waiting {
    TimeNs when = 0;
    ProcExit exit;
  };

  const uint32_t limit_;
  std::map<Rank, Waiting> waiting_;
  std::map<Rank, TimeNs> started_;  // the last restart of each rank
  std::map<Rank, std::vector<LocalOutput>> ends_;
  // Ranks that get no further process: the ends of their streams are not held.
  std::set<Rank> over_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_RESTARTS_H_
