// An agent's answer to StateQuery: its jobs and the waiting operations, with
// the processes that they wait for.
#ifndef CANOPY_SERVER_CORE_WHY_H_
#define CANOPY_SERVER_CORE_WHY_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/describe_procs.h"
#include "common/ids.h"
#include "common/status.h"

namespace canopy::core {

// A process for which an operation waits. `sure` is true if the process's own
// agent has confirmed it; otherwise that agent has not answered yet.
struct MissingProc {
  ProcId proc;
  NodeId node = kNoNode;
  bool sure = false;

  auto operator<=>(const MissingProc&) const = default;
};

template <typename V>
void Describe(V& v, wire::Is<MissingProc> auto& m) {
  v.Field(1, m.proc);
  v.Field(2, m.node);
  v.Field(3, m.sure);
}

// One blocked operation. Its text is the same on every agent that takes part.
struct Waiting {
  std::string nspace;     // namespace of the waiting processes
  std::string operation;  // "fence #3", "get of key 'k' of job:4", ...
  uint64_t age_ms = 0;
  uint32_t callers = 0;  // local clients that wait in the operation
  std::vector<MissingProc> missing;
  uint64_t more_missing = 0;  // missing processes that are not listed
};

template <typename V>
void Describe(V& v, wire::Is<Waiting> auto& m) {
  v.Field(1, m.nspace);
  v.Field(2, m.operation);
  v.Field(3, m.age_ms);
  v.Field(4, m.callers);
  v.Field(5, m.missing);
  v.Field(6, m.more_missing);
}

// Maximum number of processes in Waiting::missing.
inline constexpr size_t kMaxMissing = 256;

// The report of one agent about a job.
struct JobReport {
  std::string nspace;
  uint32_t num_procs = 0;    // of the whole job
  uint32_t local_procs = 0;  // mapped to this agent
  uint32_t local_ended = 0;
  uint32_t connected = 0;  // clients of this agent
};

template <typename V>
void Describe(V& v, wire::Is<JobReport> auto& m) {
  v.Field(1, m.nspace);
  v.Field(2, m.num_procs);
  v.Field(3, m.local_procs);
  v.Field(4, m.local_ended);
  v.Field(5, m.connected);
}

// The answer to "status" and "why". `waiting` is filled only for "why".
struct StateAnswer {
  NodeId node = kNoNode;
  NodeId parent = kNoNode;
  std::string about;  // see CoreConfig::about
  std::vector<JobReport> jobs;
  std::vector<Waiting> waiting;
};

template <typename V>
void Describe(V& v, wire::Is<StateAnswer> auto& m) {
  v.Always(1, m.node);
  v.Field(2, m.parent);
  v.Field(3, m.about);
  v.Field(4, m.jobs);
  v.Field(5, m.waiting);
}

std::string EncodeStateAnswer(const StateAnswer& answer);
// Decodes an answer. Returns kErrUnpackFailure if it is malformed.
Result<StateAnswer> DecodeStateAnswer(std::string_view bytes);

// Merges the agents' answers: each operation appears once, with its oldest age
// and all its callers. An agent's report about its own processes overrides the
// assumptions of other agents.
std::vector<Waiting> MergeWaiting(const std::vector<StateAnswer>& answers);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_WHY_H_
