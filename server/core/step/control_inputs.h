// Inputs of the core from the control service; all but StateRequested only at
// the agent that controls the job (the root).
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
  // Answers OutputDelivered; the job is not over before.
  bool acknowledges = false;
  // Nothing is started: the job ends when every node is prepared, and what was
  // found out about its programs is reported at length.
  bool check_only = false;
};

// A job's launcher reattached to the agent that controls the job, with how much
// it has received of each node's output (none: the launcher is gone and the
// output is discarded). Until then a recovered job's output is held back.
struct LauncherReattached {
  std::string nspace;
  std::optional<std::vector<uint64_t>> received = std::nullopt;
  // It resends the job's input from this position; none: it does not.
  std::optional<uint64_t> input_begin = std::nullopt;
};

// The end of a HostSpawn: every process of the job has started, or with an
// error nothing of it runs any more.
struct SpawnDone {
  ProcId proc;
  RequestId request = 0;
  int status = 0;
  std::string nspace;  // of the job; empty with an error
};

// A predecessor was executing this HostSpawn, which goes on: SpawnDone follows.
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
  int status = 0;  // kErrTimeout: `reason` is what it waited for, or empty
  std::string reason;
  bool immediately = false;  // SIGKILL, without time to end
  bool again = false;        // may be a repetition, and counts once
};

// In place of the limit that the job has. It is counted: the first that is set
// is 1.
struct TimeLimitSet {
  std::string nspace;
  uint32_t seconds = 0;       // from now; 0: no limit
  uint32_t warn_seconds = 0;  // before its end, by JobChanged::warning; 0: not
};

struct OutputConsumed {
  std::string nspace;
  Rank rank = 0;  // whose output, so that its node gets the credit
  uint64_t bytes = 0;
};

struct InputOffered {
  std::string nspace;
  Bytes data;  // empty: end of file
  // Position of the data in the job's input; none: after what was offered
  // before.
  std::optional<uint64_t> position = std::nullopt;
};

// Ask all agents for their state; answered by StateCollected actions, one per
// agent, then one with done == true.
struct StateRequested {
  uint64_t request = 0;
  std::string what;
  std::string nspace;
};

// Every agent of the overlay is to end; at the root, when no job runs.
struct ShutdownRequested {
  std::string reason;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_CONTROL_INPUTS_H_
