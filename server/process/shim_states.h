// The states of a job's shim as its agent sees them, and what each event does
// in each of them. The table is documented in docs/shim_states.md.
#ifndef CANOPY_SERVER_PROCESS_SHIM_STATES_H_
#define CANOPY_SERVER_PROCESS_SHIM_STATES_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "server/shim/protocol.h"
#include "server/shim/state_table.h"

namespace canopy::process {

enum class ShimState : uint8_t {
  kGreeting,  // a recovered shim that has not identified its job
  kNew,
  kPreparing,
  kPrepared,
  kStarting,
  kStarted,
  kFailed,     // the job could not be prepared, or its shim is lost
  kReplaced,   // another agent has taken over the shim
  kForgotten,  // the shim ends
  kLeft,       // forgotten, and another agent's
};
inline constexpr size_t kShimStates = 10;

enum class ShimEvent : uint8_t {
  // Frames of the shim.
  kWelcome,
  kHeld,
  kPreparedFrame,
  kStartedFrame,
  kOutput,
  kExits,
  kInputDone,
  kResumed,
  kTextTaken,
  kRestartedFrame,
  kReplacedFrame,
  kUnknownFrame,
  // What they, or the lack of local ranks, amount to.
  kFoundPrepared,
  kFoundStarted,
  kPrepared,
  kNotPrepared,
  // The agent's own.
  kPrepare,
  kStart,
  kForget,
  kLost,  // the connection
};
inline constexpr size_t kShimEvents = 20;

// Any thread.
ShimEvent ShimEventOf(FrameType type);
Cell<ShimState> StepOf(ShimState state, ShimEvent event);
std::string_view NameOf(ShimState state);
std::string_view NameOf(ShimEvent event);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_SHIM_STATES_H_
