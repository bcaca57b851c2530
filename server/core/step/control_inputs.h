// Inputs of the core from the control service. A job is launched at the root.
// Other inputs about a job have an effect only at the agent that controls the
// job.
#ifndef CANOPY_SERVER_CORE_STEP_CONTROL_INPUTS_H_
#define CANOPY_SERVER_CORE_STEP_CONTROL_INPUTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/job.h"
#include "server/core/step/client_id.h"

namespace canopy::core {

struct LaunchRequested {
  std::shared_ptr<const JobSpec> job;
  // True if the launcher acknowledges OutputDelivered. The job is then not over
  // before the acknowledgement.
  bool acknowledges = false;
  // True if no process is to be started. The job then ends when every node is
  // prepared, with detailed notes about its programs.
  bool check_only = false;
};

// Reports that a job's launcher has reattached to the agent that controls the
// job. `received` has, for each node, how much of its output the launcher has
// received. No value means that the launcher is gone and the output is
// discarded. The output of a recovered job is held back until this input
// arrives.
struct LauncherReattached {
  std::string nspace;
  std::optional<std::vector<uint64_t>> received = std::nullopt;
  // The position from which the launcher resends the job's input. No value: it
  // resends no input.
  std::optional<uint64_t> input_begin = std::nullopt;
};

// Reports that a HostSpawn has ended. Without an error, every process of the
// job has started; with an error, no process of the job runs any more.
struct SpawnDone {
  ProcId proc;
  RequestId request = 0;
  int status = 0;
  std::string nspace;  // the new job; empty with an error
};

// Reports that a predecessor was executing this HostSpawn. The spawn continues,
// and SpawnDone follows.
struct SpawnRecovered {
  ProcId proc;
  RequestId request = 0;
};

struct SignalRequested {
  std::string nspace;
  int signal = 0;
  std::vector<Rank> ranks;
};

struct KillRequested {
  std::string nspace;
  // With kErrTimeout, `reason` lists the operations for which the job waited,
  // or is empty.
  int status = 0;
  std::string reason;
  bool immediately = false;  // SIGKILL without a grace period
  // true if this may be a repetition, which does not count as another request
  bool again = false;
};

// Replaces the time limit of the job. The limits set are counted from 1.
struct TimeLimitSet {
  std::string nspace;
  uint32_t seconds = 0;  // from now; 0: no limit
  // time before the limit at which JobChanged::warning is due; 0: no warning
  uint32_t warn_seconds = 0;
};

struct OutputConsumed {
  std::string nspace;
  // the rank whose output was consumed; its node gets the credit
  Rank rank = 0;
  uint64_t bytes = 0;
};

struct InputOffered {
  std::string nspace;
  Bytes data;  // empty: end of file
  // Position of the data in the job's input. No value: the data follows the
  // data offered before.
  std::optional<uint64_t> position = std::nullopt;
};

// Requests the state of all agents. The answers are StateCollected actions, one
// for each agent and a last one with `done` set.
struct StateRequested {
  uint64_t request = 0;
  std::string what;
  std::string nspace;
};

// Requests the end of every agent of the overlay. It is issued at the root when
// no job runs.
struct ShutdownRequested {
  std::string reason;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_CONTROL_INPUTS_H_
