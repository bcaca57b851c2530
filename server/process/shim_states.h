// The states of a job's shim as its agent sees them, and the effect of each
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
  kLeft,       // forgotten, and another agent serves it
};
inline constexpr size_t kShimStates = 10;

enum class ShimEvent : uint8_t {
  // The shim's frames.
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
  // The results of frames, or of a job without local ranks.
  kFoundPrepared,
  kFoundStarted,
  kPrepared,
  kNotPrepared,
  // The events of the agent itself.
  kPrepare,
  kStart,
  kForget,
  kLost,  // the connection is lost
};
inline constexpr size_t kShimEvents = 20;

// These functions are thread-safe.
ShimEvent ShimEventOf(FrameType type);
Cell<ShimState> StepOf(ShimState state, ShimEvent event);
std::string_view NameOf(ShimState state);
std::string_view NameOf(ShimEvent event);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_SHIM_STATES_H_
