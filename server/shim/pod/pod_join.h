// The beginning of a shim in a pod: it joins its node's agent and waits for its
// job.
#ifndef CANOPY_SERVER_SHIM_POD_POD_JOIN_H_
#define CANOPY_SERVER_SHIM_POD_POD_JOIN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/posix/unique_fd.h"
#include "server/shim/protocol.h"

namespace canopy::process {

// Exit codes of canopy-exec when there is no job, in addition to those of
// shells.
inline constexpr int kPodUsageExit = 2;
// The pod cannot take part in a job, however often it is tried.
inline constexpr int kPodRefusedExit = 64;
// It may work when the pod is tried again.
inline constexpr int kPodRetryExit = 75;

struct PodJoinOptions {
  std::string socket;  // of the agent
  JoinPod join;
  // A signalfd of the signals that end the wait.
  int signals = -1;
  // How long the agent may be away, in milliseconds.
  uint32_t agent_wait_ms = 300000;
};

// The connection at which the agent has begun to describe the job, or the exit
// code without a job.
struct PodJoined {
  UniqueFd connection;
  int exit_code = 0;
};

// Connects, as often as necessary, and waits until the agent sends the job.
// Prints what the agent reports, on standard error. Blocks.
PodJoined JoinAgent(const PodJoinOptions& options);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_POD_POD_JOIN_H_
