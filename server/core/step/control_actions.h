// Actions of the core for the control service.
#ifndef CANOPY_SERVER_CORE_STEP_CONTROL_ACTIONS_H_
#define CANOPY_SERVER_CORE_STEP_CONTROL_ACTIONS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/job.h"
#include "server/core/messages.h"
#include "server/core/step/client_id.h"
#include "server/core/step/owner.h"

namespace canopy::core {

// Phases of a job, as reported to its launcher by the agent that controls the
// job.
enum class JobPhase : uint8_t {
  kPreparing,
  kStarting,
  kRunning,
  kEnding,  // a process has failed or is being ended
  kEnded,
};

// Warns that a time limit expires soon. `number` counts the limits set for the
// job.
struct TimeWarning {
  uint32_t number = 0;
  uint32_t seconds_left = 0;
};

// The resources used by a job.
struct JobUsage {
  Usage sum;           // sum of CPU times, and the largest memory of one rank
  uint32_t ranks = 0;  // number of ranks whose usage is known
};

struct JobChanged {
  std::string nspace;
  JobPhase phase = JobPhase::kPreparing;
  uint32_t nodes_ready = 0;
  uint32_t procs_started = 0;
  uint32_t procs_ended = 0;
  // Set with kEnded: 0, the first failing rank's exit code, or 128 + signal.
  int exit_code = 0;
  int status = 0;  // PMIx status of the job
  Rank first_failed = kRankInvalid;
  std::string text;  // one line for a person; empty if there is no failure
  // True if the job's time limit has expired. The control service may collect a
  // report of the operations for which the job waits, and sends the report with
  // a KillRequested of kErrTimeout. Otherwise the core ends the job after 30 s.
  bool out_of_time = false;
  // Notes of the nodes about the programs; reported once, when all nodes are
  // prepared.
  std::vector<ProgramNote> notes = {};
  // The processes that have ended since the last report. A successor also
  // reports ends that its predecessor has reported.
  std::vector<ProcExit> ends = {};
  // Set if the job's processes must be warned. A successor may repeat a
  // warning.
  std::optional<TimeWarning> warning = std::nullopt;
  JobUsage used = {};  // usage of the ranks that have ended
};

// Maximum number of spawns that one process may have in progress. It can
// request the results of the same number of its last spawns again.
inline constexpr size_t kMaxSpawnsOfProcess = 32;

// Requests the execution of a spawn for a process of a job that this agent
// controls. The answer is SpawnDone.
struct HostSpawn {
  ProcId proc;
  RequestId request = 0;
  Bytes call;  // as in SpawnArrived
  // The owner of a tool whose user is not the agents'; its jobs get this owner.
  std::optional<Owner> owner = std::nullopt;
};

// Reports a job that another agent controls. The root and the leader are
// notified of all such jobs, because they map jobs onto the same nodes. May be
// repeated. Without `job`, the job is over or not known any more.
struct JobElsewhere {
  std::string nspace;
  std::shared_ptr<const JobSpec> job;
  NodeId controller = kNoNode;
};

struct DeliverOutput {
  std::string nspace;
  Rank rank = 0;
  uint16_t channel = 0;
  Bytes data;
  // Number of bytes that another reader received instead of the launcher. The
  // launcher's connection counts them; `data` is empty in this case.
  uint64_t redirected = 0;
};

// Reports that all of the job's output was sent to the launcher. The launcher
// must acknowledge all of it immediately (OutputConsumed).
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
