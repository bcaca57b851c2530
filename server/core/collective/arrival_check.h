// Decides to which collective an arrival belongs, and whether the arrival is
// accepted.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_ARRIVAL_CHECK_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_ARRIVAL_CHECK_H_

#include <cstdint>
#include <set>

#include "common/ids.h"
#include "server/core/collective/connections.h"
#include "server/core/collective/groups.h"
#include "server/core/collective/series.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/client_inputs.h"
#include "server/core/tree.h"

namespace canopy::core {

// Maximum number of collectives of one series that one process may have
// pending; further arrivals are refused. The limits of each job are in
// series_table.h.
inline constexpr uint64_t kMaxPipelined = 1024;

// Functions return a PMIx status: kSuccess, or the status of the reply to the
// refused arrival. The parts outlive this object. Used by one thread.
class ArrivalCheck {
 public:
  struct Parts {
    NodeId self;
    const Tree& tree;
    const JobTable& jobs;
    const Connections& connections;
    const Groups& groups;
  };
  explicit ArrivalCheck(const Parts& parts) : p_(parts) {}

  // Sets *id, except for the sequence, from the participants and the group that
  // the process names.
  int Identify(const CollectiveArrived& in, const ProcId& proc,
               CollectiveId* id) const;
  // Checks an arrival at the next collective of the series, whose members are
  // known. `index` is the process's index among the local members; -1 if it is
  // not a member.
  int Accepts(const Series& series, const CollectiveArrived& in,
              int index) const;
  // Checks an arrival that has been recorded. After an error, the operation
  // fails for all participants.
  int RefusalOf(const CollectiveId& id, const Instance& instance,
                const ProcId& proc) const;

 private:
  int IdentifyGroup(const CollectiveArrived& in, const ProcId& proc,
                    CollectiveId* id) const;
  int AcceptsGroup(const Series& series, const CollectiveArrived& in,
                   int index) const;

  const Parts p_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_ARRIVAL_CHECK_H_
