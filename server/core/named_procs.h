// Returns true if the list contains `proc`; kRankWildcard stands for all ranks
// of a job.
#ifndef CANOPY_SERVER_CORE_NAMED_PROCS_H_
#define CANOPY_SERVER_CORE_NAMED_PROCS_H_

#include <algorithm>
#include <vector>

#include "common/ids.h"

namespace canopy::core {

inline bool Names(const std::vector<ProcId>& named, const ProcId& proc) {
  return std::ranges::any_of(named, [&](const ProcId& one) {
    return one.nspace == proc.nspace &&
           (one.rank == kRankWildcard || one.rank == proc.rank);
  });
}

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_NAMED_PROCS_H_
