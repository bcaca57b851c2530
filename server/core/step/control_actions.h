// Actions of the core for the control service.
#ifndef CANOPY_SERVER_CORE_STEP_CONTROL_ACTIONS_H_
#define CANOPY_SERVER_CORE_STEP_CONTROL_ACTIONS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/messages.h"
#include "server/core/step/client_id.h"

namespace canopy::core {

// Reports for the launcher of a job, at the agent that controls it.
enum class JobPhase : uint8_t {
  kPreparing,
  kStarting,
  kRunning,
  kEnding,  // some process failed or is being ended
  kEnded,
};

// The time limit of a job that was set, the number-th, is near.
struct TimeWarning {
  uint32_t number = 0;
  uint32_t seconds_left = 0;
};

// What a job has used.
struct JobUsage {
  Usage sum;           // of CPU time; the most memory of one rank
  uint32_t ranks = 0;  // of which it is known
};

struct JobChanged {
  std::string nspace;
  JobPhase phase = JobPhase::kPreparing;
  uint32_t nodes_ready = 0;
  uint32_t procs_started = 0;
  uint32_t procs_ended = 0;
  // With kEnded: 0, the first failing rank's exit code, or 128 + signal.
  int exit_code = 0;
  int status = 0;  // PMIx status of the job
  Rank first_failed = kRankInvalid;
  std::string text;  // one line for a person; empty when all is well
  // The job's time limit has expired. The control service may collect what the
  // job waits for and has 2 s to answer with a KillRequested of kErrTimeout.
  bool out_of_time = false;
  // What the nodes found out about the programs; once, when all are prepared.
  std::vector<ProgramNote> notes = {};
  // Processes that have ended since the last report; of a successor also those
  // that its predecessor has reported.
  std::vector<ProcExit> ends = {};
  // Its processes are to be warned. Of a successor maybe again.
  std::optional<TimeWarning> warning = std::nullopt;
  JobUsage used = {};  // by ranks that have ended
};

// How many spawns one process may have under way, and how many of its last
// ones it may ask for again.
inline constexpr size_t kMaxSpawnsOfProcess = 32;

// Execute this spawn, for a process of a job controlled here; answered by
// SpawnDone.
struct HostSpawn {
  ProcId proc;
  RequestId request = 0;
  Bytes call;  // as in SpawnArrived
};

struct DeliverOutput {
  std::string nspace;
  Rank rank = 0;
  uint16_t channel = 0;
  Bytes data;
  // Bytes that went to others instead, to be counted and not shown: then there
  // is no data.
  uint64_t redirected = 0;
};

// All of the job's output was delivered; OutputConsumed acknowledges its
// arrival.
struct OutputDelivered {
  std::string nspace;
};

struct InputConsumed {
  std::string nspace;
  uint64_t bytes = 0;
};

struct StateCollected {
  uint64_t request = 0;
  NodeId node = kNoNode;
  Bytes answer;
  bool done = false;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_CONTROL_ACTIONS_H_
