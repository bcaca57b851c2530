// What a debugger has to do with a job: which of its processes wait for one,
// and whose debugger daemons its processes are (PMIx Standard, chapter "Tools
// and Debuggers").
#ifndef CANOPY_COMMON_JOB_DEBUG_H_
#define CANOPY_COMMON_JOB_DEBUG_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/ids.h"

namespace canopy {

// Ranks that stop at one place. No value: none does; empty: all do. Ascending.
using StopRanks = std::optional<std::vector<Rank>>;

inline bool Stops(const StopRanks& ranks, Rank rank) {
  return ranks.has_value() &&
         (ranks->empty() || std::ranges::binary_search(*ranks, rank));
}

struct JobDebug {
  StopRanks on_exec;  // PMIX_DEBUG_STOP_ON_EXEC: before their first instruction
  StopRanks in_init;  // PMIX_DEBUG_STOP_IN_INIT: in PMIx_Init
  StopRanks in_app;   // PMIX_DEBUG_STOP_IN_APP: where the program wants
  // PMIX_DEBUG_TARGET of debugger daemons; empty namespace: they are none.
  ProcId target;

  bool stops() const { return on_exec || in_init || in_app; }
  bool any() const { return stops() || !target.nspace.empty(); }
};

// Debugger daemons that are to be started beside the processes of a job.
struct DebugDaemons {
  ProcId target;          // rank kRankWildcard: the whole job
  uint32_t per_node = 0;  // on each node of the target; 0: not said
  uint32_t per_proc = 0;  // for each process of it; 0: not said. Neither: 1
};

}  // namespace canopy

#endif  // CANOPY_COMMON_JOB_DEBUG_H_
