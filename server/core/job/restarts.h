// Local ranks of a job whose processes fail and get others in their place.
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

// From the second restart of a rank on, its processes start so far apart, so
// that one that fails at once does not keep the node busy.
inline constexpr TimeNs kRestartInterval = 1'000'000'000;

// How many processes a rank has had is told by their exits, so a successor
// needs no record: what had not been started by then is reported to it again.
// Book-keeping only; not synchronised.
class Restarts {
 public:
  // `limit`: JobSpec::max_restarts.
  explicit Restarts(uint32_t limit) : limit_(limit) {}

  // The process has failed, and its rank may have another one.
  bool Allows(const ProcExit& exit) const;
  // Another one is to follow, at once or when its time comes.
  void Add(TimeNs now, const ProcExit& exit);
  // The exits whose successors are to start now.
  std::vector<ProcExit> TakeDue(TimeNs now);
  // When TakeDue has something; kNever: nothing waits.
  TimeNs NextDeadline() const;

  // The end of a stream is no end of the rank's output as long as another
  // process may follow. False: it is, and is not held.
  bool HoldEnd(const LocalOutput& end);
  // Another process follows: what was held is of no interest.
  void DropEnds(Rank rank) { ends_.erase(rank); }
  // None follows: the ends that were held.
  std::vector<LocalOutput> TakeEnds(Rank rank);

 private:
  struct Waiting {
    TimeNs when = 0;
    ProcExit exit;
  };

  const uint32_t limit_;
  std::map<Rank, Waiting> waiting_;
  std::map<Rank, TimeNs> started_;  // the last restart of each
  std::map<Rank, std::vector<LocalOutput>> ends_;
  std::set<Rank> over_;  // ranks whose ends are not held
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_RESTARTS_H_
