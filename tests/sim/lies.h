// Agents and processes that say what is not so, about an operation of others.
#ifndef CANOPY_TESTS_SIM_LIES_H_
#define CANOPY_TESTS_SIM_LIES_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/ids.h"
#include "tests/sim/cluster.h"
#include "tests/sim/operations.h"

namespace canopy::sim {

// Who lies, and about what.
struct Lie {
  const Operation& about;
  // No agent of the operation; none: only a process lies.
  std::optional<NodeId> agent;
  ProcId process;               // a connected one, in another part
  NodeId caller = kNoNode;      // the agent of the operation's caller
  NodeId controller = kNoNode;  // of the caller's job
  // Jobs that the caller's agent takes part in, and whose controller it knows.
  std::set<std::string> known;
  std::set<NodeId> controllers;  // of all jobs
};

// Has its agents get what must have no effect: answers from those who were not
// asked, what only a steward may say, calls that name nobody or are malformed.
// Which is drawn from the cluster's source.
void Tell(const Lie& lie, Cluster* cluster);

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_LIES_H_
