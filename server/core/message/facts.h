// Messages between agents that ask for the state of others. Plain values, see
// server/core/messages.h.
#ifndef CANOPY_SERVER_CORE_MESSAGE_FACTS_H_
#define CANOPY_SERVER_CORE_MESSAGE_FACTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"

namespace canopy::core {

// Query of one agent's state, and the answer. `what` is "status" or "why"; the
// answer is a WireWriter record, see why.h. An empty `nspace` means all jobs.
struct StateQuery {
  uint64_t request = 0;
  std::string what;
  std::string nspace;
};

struct StateReply {
  uint64_t request = 0;
  Bytes answer;
};

// What only the receiver knows, for a PMIx_Query_info at the sender's node: of
// its processes, its node, and the jobs that it controls. Answered by
// FactsReply, at once or as soon as it has measured.
struct FactsRequest {
  uint64_t request = 0;       // the requester's own number
  std::string nspace;         // whose processes of its node; empty: none
  Rank rank = kRankWildcard;  // which of them; kRankWildcard: all
  bool memory = false;        // also how much memory these use
  bool node = false;          // the memory of its node
  // Instead of processes the jobs that it knows, and their states; only that
  // of `nspace` unless that is empty.
  bool jobs = false;
};

// JobFacts::status of a job that is being launched
// (PMIX_OPERATION_IN_PROGRESS).
inline constexpr int kLaunching = -156;

struct ProcessFacts {
  Rank rank = 0;
  int pid = 0;            // 0: not started
  uint8_t state = 0;      // pmix_proc_state_t
  uint64_t resident = 0;  // bytes; 0: not measured, or it has ended
};

struct JobFacts {
  std::string nspace;
  uint32_t uid = 0;
  int status = 0;       // of the job so far, a PMIx status
  std::string command;  // PMIX_CMD_LINE
  // Until its time limit ends it, at least 1; 0: it has none. Said where one
  // job is asked for.
  uint64_t ends_in_ms = 0;
};

// Bytes of memory of one node.
struct MemoryFacts {
  uint64_t agent = 0;    // of its agent
  uint64_t clients = 0;  // of all processes of jobs there
  uint32_t num_clients = 0;
};

struct FactsReply {
  uint64_t request = 0;  // of the FactsRequest
  int status = 0;
  MemoryFacts memory;  // when asked for `node`
  std::vector<ProcessFacts> processes;
  std::vector<JobFacts> jobs;
};
inline constexpr size_t kMaxJobFacts = 4096;  // in one answer

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_MESSAGE_FACTS_H_
