// False information sent by agents and processes about operations of others.
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

// The source of false information, and its subject.
struct Lie {
  const Operation& about;
  // An agent that does not take part in the operation; no value: only a process
  // sends false information.
  std::optional<NodeId> agent;
  ProcId process;               // a connected process that does not take part
  NodeId caller = kNoNode;      // the agent of the operation's caller
  NodeId controller = kNoNode;  // the agent that controls the caller's job
  // Jobs in which the caller's agent takes part, and whose controller it knows.
  std::set<std::string> known;
  std::set<NodeId> controllers;  // controllers of all jobs
};

// Sends messages that must have no effect to the agents of the operation:
// answers to requests that were not sent, messages that only a steward may
// send, and calls that are malformed or name no process. The cluster's random
// source chooses among them.
void Tell(const Lie& lie, Cluster* cluster);

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_LIES_H_
