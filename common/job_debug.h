// The debugging properties of a job: which of its processes wait for a
// debugger, and which job its processes debug if they are debugger daemons
// (PMIx Standard, chapter "Tools and Debuggers").
#ifndef CANOPY_COMMON_JOB_DEBUG_H_
#define CANOPY_COMMON_JOB_DEBUG_H_

#include <algorithm>
#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/ids.h"

namespace canopy {

// The ranks that stop for one of the reasons in JobDebug, in ascending order.
// No value: no rank stops. Empty: all ranks stop.
using StopRanks = std::optional<std::vector<Rank>>;

// Returns true if the rank is one of `ranks`, as StopRanks describes them.
inline bool Stops(const StopRanks& ranks, Rank rank) {
  return ranks.has_value() &&
         (ranks->empty() || std::ranges::binary_search(*ranks, rank));
}

// Returns true if the ranks are in ascending order, as Stops requires.
inline bool InOrder(const StopRanks& ranks) {
  return !ranks.has_value() || std::ranges::is_sorted(*ranks);
}

struct JobDebug {
  StopRanks on_exec;  // PMIX_DEBUG_STOP_ON_EXEC: before the first instruction
  StopRanks in_init;  // PMIX_DEBUG_STOP_IN_INIT: in PMIx_Init
  StopRanks in_app;   // PMIX_DEBUG_STOP_IN_APP: where the program chooses
  // PMIX_DEBUG_TARGET of debugger daemons. The namespace is empty if the
  // processes are not debugger daemons.
  ProcId target;

  bool stops() const { return on_exec || in_init || in_app; }
  bool any() const { return stops() || !target.nspace.empty(); }
};

// A request for debugger daemons beside the processes of a job. If neither
// number is given, one daemon starts for each target process.
struct DebugDaemons {
  ProcId target;          // rank kRankWildcard: the whole job
  uint32_t per_node = 0;  // on each node of the target; 0: not given
  uint32_t per_proc = 0;  // for each process of the target; 0: not given

  auto operator<=>(const DebugDaemons&) const = default;
};

}  // namespace canopy

#endif  // CANOPY_COMMON_JOB_DEBUG_H_
