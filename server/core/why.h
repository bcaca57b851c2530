// An agent's answer to StateQuery: its jobs, and the operations that wait, for
// which processes and since when. Answers are WireWriter records.
#ifndef CANOPY_SERVER_CORE_WHY_H_
#define CANOPY_SERVER_CORE_WHY_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "common/status.h"

namespace canopy::core {

// A process that is waited for. `sure`: reported by its own agent; otherwise
// that agent has not answered yet.
struct MissingProc {
  ProcId proc;
  NodeId node = kNoNode;
  bool sure = false;

  auto operator<=>(const MissingProc&) const = default;
};

// One blocked operation. The same operation has the same text on every agent
// that takes part in it.
struct Waiting {
  std::string nspace;     // of those who wait
  std::string operation;  // "fence #3", "get of key 'k' of job:4", ...
  uint64_t age_ms = 0;
  uint32_t callers = 0;  // local clients that wait in it
  std::vector<MissingProc> missing;
  uint64_t more_missing = 0;  // not listed, beyond kMaxMissing
};

inline constexpr size_t kMaxMissing = 256;

struct JobReport {
  std::string nspace;
  uint32_t num_procs = 0;    // of the whole job
  uint32_t local_procs = 0;  // mapped to this agent
  uint32_t local_ended = 0;
  uint32_t connected = 0;  // clients of this agent
};

// Answer to "status" and "why". `waiting` is only filled for "why".
struct StateAnswer {
  NodeId node = kNoNode;
  NodeId parent = kNoNode;
  std::string about;  // as CoreConfig::about
  std::vector<JobReport> jobs;
  std::vector<Waiting> waiting;
};

std::string EncodeStateAnswer(const StateAnswer& answer);
Result<StateAnswer> DecodeStateAnswer(std::string_view bytes);

// One list out of the agents' answers: the same operation once, its oldest age
// and all its callers. An agent's statement about its own processes overrides
// what other agents assume.
std::vector<Waiting> MergeWaiting(const std::vector<StateAnswer>& answers);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_WHY_H_
