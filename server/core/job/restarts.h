// Restarts of a job's local ranks: another process takes the place of a failed
// one.
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

// A successor needs no record: the exits tell how many processes a rank has
// had, and exits whose restart had not begun are reported to the successor
// again. Book-keeping only. Not synchronised.
class Restarts {
 public:
  // `limit` is JobSpec::max_restarts.
  explicit Restarts(uint32_t limit) : limit_(limit) {}

  // Returns whether the process has failed and its rank may have another one.
  bool Allows(const ProcExit& exit) const;
  // Schedules another process, to start at once or when its time comes.
  void Add(TimeNs now, const ProcExit& exit);
  // Removes and returns the exits whose next process is to start now.
  std::vector<ProcExit> TakeDue(TimeNs now);
  // Returns when TakeDue will have something; kNever if nothing is scheduled.
  TimeNs NextDeadline() const;

  // The end of a stream is not the end of the rank's output while another
  // process may follow. Returns true if the end is held back; false if it
  // counts now.
  bool HoldEnd(const LocalOutput& end);
  // Drops the held ends, because another process follows.
  void DropEnds(Rank rank) { ends_.erase(rank); }
  // Returns the held ends, because no process follows.
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
  std::set<Rank> over_;  // ranks whose ends are not held
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_RESTARTS_H_
