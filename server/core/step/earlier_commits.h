// Which commits an input depends on. Adapters may hold commits of local ranks
// that the core does not have yet (commit mailboxes): those that precede an
// input are drawn before it enters the core.
#ifndef CANOPY_SERVER_CORE_STEP_EARLIER_COMMITS_H_
#define CANOPY_SERVER_CORE_STEP_EARLIER_COMMITS_H_

#include <functional>

#include "common/ids.h"
#include "server/core/step/input.h"

namespace canopy::core {

// Calls draw(proc) for each process whose earlier commits must be in the core
// before `input`: the target of a get, of a client or another agent, and ranks
// that have ended. A process without mailbox, or of another node, has none. A
// rank of kRankUndef or kRankWildcard stands for all of its namespace. What a
// client itself has committed precedes its own requests: its adapter sees to
// that, which knows its order.
void ForEachEarlierCommitter(
    const Input& input, const std::function<void(const ProcId& proc)>& draw);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_EARLIER_COMMITS_H_
