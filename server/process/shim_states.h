// The states of a job's shim from its agent's view, and the effect of each
// event in each state. docs/shim_states.md documents the table.
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
  kForgotten,  // the shim is ending
  kLeft,       // forgotten, and served by another agent
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
  // Results of frames, or of a job without local ranks.
  kFoundPrepared,
  kFoundStarted,
  kPrepared,
  kNotPrepared,
  // Events of the agent itself.
  kPrepare,
  kStart,
  kForget,
  kLost,  // the connection
};
inline constexpr size_t kShimEvents = 20;

// Thread-safe.
ShimEvent ShimEventOf(FrameType type);
Cell<ShimState> StepOf(ShimState state, ShimEvent event);
std::string_view NameOf(ShimState state);
std::string_view NameOf(ShimEvent event);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_SHIM_STATES_H_
