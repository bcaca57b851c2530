// The states of a shim, and the effect of each event in each state.
// docs/shim_states.md documents the table.
#ifndef CANOPY_SERVER_SHIM_HOLDER_STATES_H_
#define CANOPY_SERVER_SHIM_HOLDER_STATES_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "server/shim/protocol.h"
#include "server/shim/state_table.h"

namespace canopy::process {

enum class HolderState : uint8_t {
  kEmpty,      // no job has been described
  kDescribed,  // ranks are being added
  kChecked,    // the job can be started
  kStarted,
  kEnding,   // SIGTERM was sent to the remaining processes
  kForcing,  // SIGKILL was sent to the remaining processes
};
inline constexpr size_t kHolderStates = 6;

enum class HolderEvent : uint8_t {
  // The agent's frames.
  kHello,
  kPrepare,
  kRanks,
  kCheck,
  kStart,
  kResume,
  kSignal,
  kKill,
  kInput,
  kCredit,
  kText,
  kRestart,
  kHold,
  kHoldMany,
  kRelease,
  kOrphan,
  kForget,
  kUnknownFrame,
  // The events within the shim.
  kCheckPassed,  // while Check is handled
  kOrphaned,     // no agent has connected in time
  kTerminated,   // the shim got a terminating signal
  kGraceOver,    // the grace time since the beginning of the end is over
};
inline constexpr size_t kHolderEvents = 22;

// These functions are thread-safe.
HolderEvent HolderEventOf(FrameType type);
Cell<HolderState> StepOf(HolderState state, HolderEvent event);
std::string_view NameOf(HolderState state);
std::string_view NameOf(HolderEvent event);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_HOLDER_STATES_H_
