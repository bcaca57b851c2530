// Records which faults occurred in which phases of operations, over many seeds.
#ifndef CANOPY_TESTS_SIM_FAULT_MATRIX_H_
#define CANOPY_TESTS_SIM_FAULT_MATRIX_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/sim/seed_table.h"

namespace canopy::sim {

// States of the engines' state machines, as an observer of all agents sees
// them.
enum class Phase : uint8_t {
  kSpawnRequested,  // on its way to the agent that controls the spawner's job
  kSpawnExecuting,
  kSpawnAnswering,
  kConnectResolving,  // an agent waits for the map of a job
  kConnectGathering,  // a participant has yet to arrive
  kConnectReporting,  // all have arrived; the top of the tree does not know
  kConnectReleasing,  // a participant has not been answered
  kConnected,
  kDisconnectGathering,
  kDisconnectReporting,
  kDisconnectReleasing,
  kPublishOffering,  // on its way to the owner of the key, and back
  kPublishPulling,   // the owner requests missing publications from the members
  kPublished,
  kLookupAsking,
  kLookupPulling,
  kLookupWaiting,   // the owner waits for the key
  kLookupClaiming,  // the owner reserves a key that has one reader
  kLookupEnding,    // the steward is notified, or the wait is ended
  kUnpublishRemoving,
  kAbortRequested,
  kAbortEnding,  // the targets are being ended
  kAbortAnswering,
  kGroupResolving,  // as kConnectResolving
  kGroupGathering,
  kGroupReporting,
  kGroupReleasing,
  kGrouped,
  kGroupLeaving,  // the other members are notified of a leave
  kUngroupGathering,
  kUngroupReporting,
  kUngroupReleasing,
  kEventSpreading,  // on its way to all agents
  kEventKept,       // kept for clients that register later
  kControlAsking,   // on its way to the agent that controls the target's job
  kControlActing,   // on its way to the agents of the targets, and back
  kControlAnswering,
  kQueryAsking,     // no agent has answered the query
  kQueryGathering,  // some agents have answered
};
inline constexpr size_t kNumPhases = 39;

enum class Fault : uint8_t {
  kLate,        // a message of the operation is late
  kDoubled,     // a message comes twice
  kLinkLost,    // a message is lost, or an agent that takes part is cut off
  kAskedAgain,  // a process that has reattached repeats its request
  kLie,         // a process or an agent sends false information
  kAgentRestarted,
  kAgentLost,
  kRootRestarted,
  kRootLost,
  kProcDies,     // a process that takes part dies
  kMemberJoins,  // a member that is new joins the overlay
  // A member is removed from the overlay and leaves in order: one that takes
  // part, one that only forwards messages of the operation, or the root.
  kMemberLeaves,
  kForwarderLeaves,
  kRootLeaves,
};
inline constexpr size_t kNumFaults = 14;
// The faults before the leaves, whose aims have a random source of their own.
inline constexpr size_t kNumOwnFaults = 11;

struct Cell {
  Phase phase;
  Fault fault;

  bool operator==(const Cell&) const = default;
};

std::string ToString(const Cell& cell);
// Returns why the cell cannot occur; empty if it can.
std::string_view WhyNever(const Cell& cell);
// Agents are restarted in some seeds and lost in the others. These functions
// return which kind of seeds the fault needs.
bool NeedsRestarts(Fault fault);
bool NeedsLosses(Fault fault);

// Returns the table of phases and faults.
SeedTable FaultTable();

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_FAULT_MATRIX_H_
