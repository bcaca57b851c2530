// Which collective an arrival is at, and whether it is accepted.
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

// Collectives of one series that one process may have pending; more are
// refused. Limits for each job are in series_table.h.
inline constexpr uint64_t kMaxPipelined = 1024;

// Statuses are PMIx's: kSuccess, or what the arrival is answered with. The
// parts outlive it. One thread.
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

  // Sets *id, but for the sequence, from what the process names.
  int Identify(const CollectiveArrived& in, const ProcId& proc,
               CollectiveId* id) const;
  // At the next collective of that series, which has its members. `index`: of
  // the process among the local ones; -1: it is none of them.
  int Accepts(const Series& series, const CollectiveArrived& in,
              int index) const;
  // Of an arrival that has been entered: the operation fails for all.
  int RefusalOf(const CollectiveId& id, const Instance& instance,
                const ProcId& proc) const;

  // The node's agent drops messages of groups, or does not any more.
  void NoteOld(NodeId node, bool old);
  // Messages of the series, which has its members, would be dropped.
  bool PassesOldNode(const Series& series) const;

 private:
  int IdentifyGroup(const CollectiveArrived& in, const ProcId& proc,
                    CollectiveId* id) const;
  int AcceptsGroup(const Series& series, const CollectiveArrived& in,
                   int index) const;

  const Parts p_;
  std::set<NodeId> old_nodes_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_ARRIVAL_CHECK_H_
