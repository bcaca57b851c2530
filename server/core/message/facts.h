// Messages with which agents query the state of other agents. They are plain
// values; see server/core/messages.h.
#ifndef CANOPY_SERVER_CORE_MESSAGE_FACTS_H_
#define CANOPY_SERVER_CORE_MESSAGE_FACTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/step/usage.h"

namespace canopy::core {

// A query of one agent's state. `what` is "status" or "why"; the answer in
// StateReply is a StateAnswer of why.h. An empty `nspace` means all jobs.
struct StateQuery {
  uint64_t request = 0;
  std::string what;
  std::string nspace;
};

struct StateReply {
  uint64_t request = 0;
  Bytes answer;
};

// Requests facts that only the receiver has, for a PMIx_Query_info at the
// sender's node: about the receiver's processes, its node, and the jobs that it
// controls. The answer is FactsReply; it comes at once or after a measurement.
struct FactsRequest {
  uint64_t request = 0;  // numbered by the requester
  // the job whose processes on the node are requested; empty: none
  std::string nspace;
  Rank rank = kRankWildcard;  // the rank requested; kRankWildcard: all
  bool memory = false;        // also the memory of these processes
  bool node = false;          // the memory of the node
  // Requests the jobs that the receiver knows and their states, instead of
  // processes; if `nspace` is not empty, only that job.
  bool jobs = false;
  // The requested statistics of these processes and of the node. An agent that
  // does not know this field answers without them.
  UsageFields usage = {};
};

// JobFacts::status of a job that is being launched
// (PMIX_OPERATION_IN_PROGRESS).
inline constexpr int kLaunching = -156;

struct ProcessFacts {
  Rank rank = 0;
  int pid = 0;            // 0: not started
  uint8_t state = 0;      // pmix_proc_state_t
  uint64_t resident = 0;  // bytes; 0: not measured, or the process has ended
  // Statistics in codec form (SIZE n, then n INFO); empty: not measured.
  Bytes usage = {};
};

struct JobFacts {
  std::string nspace;
  uint32_t uid = 0;
  int status = 0;       // status of the job so far, a PMIx status
  std::string command;  // PMIX_CMD_LINE
  // Time until the job's time limit ends it, at least 1; 0: the job has no
  // limit. Set only if one job was requested.
  uint64_t ends_in_ms = 0;
};

// The memory of one node's agent and of the processes of jobs there, in bytes.
struct MemoryFacts {
  uint64_t agent = 0;    // memory of the agent
  uint64_t clients = 0;  // memory of all processes of jobs
  uint32_t num_clients = 0;
};

struct FactsReply {
  uint64_t request = 0;  // request of the FactsRequest
  int status = 0;
  MemoryFacts memory;  // set if `node` was requested
  std::vector<ProcessFacts> processes;
  std::vector<JobFacts> jobs;
  // Statistics of the node in codec form: those of the node itself, then a
  // PMIX_DISK_RESOURCE_USAGE for each disk and a PMIX_NETWORK_RESOURCE_USAGE
  // for each interface.
  Bytes usage = {};
};
inline constexpr size_t kMaxJobFacts = 4096;  // maximum in one answer

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_MESSAGE_FACTS_H_
