// The states of a shim, and what each event does in each of them. The table is
// documented in docs/shim_states.md.
#ifndef CANOPY_SERVER_SHIM_HOLDER_STATES_H_
#define CANOPY_SERVER_SHIM_HOLDER_STATES_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "server/shim/protocol.h"
#include "server/shim/state_table.h"

namespace canopy::process {

enum class HolderState : uint8_t {
  kEmpty,      // no job is described yet
  kDescribed,  // the ranks are being added
  kChecked,    // the job can be started
  kStarted,
  kEnding,   // SIGTERM is sent to what is left
  kForcing,  // and SIGKILL
};
inline constexpr size_t kHolderStates = 6;

enum class HolderEvent : uint8_t {
  // Frames of the agent.
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
  // What happens in the shim.
  kCheckPassed,  // while Check is handled
  kOrphaned,     // no agent has come in time
  kTerminated,   // by a signal
  kGraceOver,    // since the end began
};
inline constexpr size_t kHolderEvents = 22;

// Any thread.
HolderEvent HolderEventOf(FrameType type);
Cell<HolderState> StepOf(HolderState state, HolderEvent event);
std::string_view NameOf(HolderState state);
std::string_view NameOf(HolderEvent event);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_HOLDER_STATES_H_
