// Which faults have met which phases of operations, over many seeds.
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
  kConnectGathering,  // somebody has yet to come
  kConnectReporting,  // all have come, and the top does not know
  kConnectReleasing,  // not everybody has been answered
  kConnected,
  kDisconnectGathering,
  kDisconnectReporting,
  kDisconnectReleasing,
  kPublishOffering,  // on its way to the owner of the key, and back
  kPublishPulling,   // the owner asks the members what it lacks
  kPublished,
  kLookupAsking,
  kLookupPulling,
  kLookupWaiting,   // for the key, at its owner
  kLookupClaiming,  // what ends when it is read
  kLookupEnding,    // the steward is told, or waiting is ended
  kUnpublishRemoving,
  kAbortRequested,
  kAbortEnding,  // the targets are being ended
  kAbortAnswering,
  kGroupResolving,  // as of connects
  kGroupGathering,
  kGroupReporting,
  kGroupReleasing,
  kGrouped,
  kGroupLeaving,  // the others are told that a member has left
  kUngroupGathering,
  kUngroupReporting,
  kUngroupReleasing,
  kEventSpreading,  // on its way to all agents
  kEventKept,       // for those that register later
  kControlAsking,   // on its way to the agent that controls the target's job
  kControlActing,   // on its way to the agents of the targets, and back
  kControlAnswering,
  kQueryAsking,     // no agent that is asked has answered
  kQueryGathering,  // some have
};
inline constexpr size_t kNumPhases = 39;

enum class Fault : uint8_t {
  kLate,        // a message of the operation is late
  kDoubled,     // or comes twice
  kLinkLost,    // or is lost; or an agent that takes part is cut off
  kAskedAgain,  // a process that has reattached repeats its request
  kLie,         // a process or an agent says what is not so
  kAgentRestarted,
  kAgentLost,
  kRootRestarted,
  kRootLost,
  kProcDies,  // one that takes part
};
inline constexpr size_t kNumFaults = 10;

struct Cell {
  Phase phase;
  Fault fault;

  bool operator==(const Cell&) const = default;
};

std::string ToString(const Cell& cell);
// Empty: it can occur.
std::string_view WhyNever(const Cell& cell);
// Agents are restarted in the one kind of seeds and lost in the other.
bool NeedsRestarts(Fault fault);
bool NeedsLosses(Fault fault);

// Of phases and faults.
SeedTable FaultTable();

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_FAULT_MATRIX_H_
