// Determines which commits an input depends on. Adapters may hold commits of
// local ranks that the core does not have yet (commit mailboxes). Commits that
// precede an input are read before the input enters the core.
#ifndef CANOPY_SERVER_CORE_STEP_EARLIER_COMMITS_H_
#define CANOPY_SERVER_CORE_STEP_EARLIER_COMMITS_H_

#include <functional>

#include "common/ids.h"
#include "server/core/step/input.h"

namespace canopy::core {

// Calls draw(proc) for each process whose earlier commits must be in the core
// before `input`: the target of a get by a client or another agent, and ranks
// that have ended. `draw` must ignore a process of another node and a process
// without a mailbox. A rank of kRankUndef or kRankWildcard stands for all ranks
// of its namespace. The client's own commits need no call, because its adapter
// puts them before its requests.
void ForEachEarlierCommitter(
    const Input& input, const std::function<void(const ProcId& proc)>& draw);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_EARLIER_COMMITS_H_
