// What was found out for the queries of one call.
#ifndef CANOPY_SERVER_CORE_QUERY_GATHERED_FACTS_H_
#define CANOPY_SERVER_CORE_QUERY_GATHERED_FACTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/messages.h"

namespace canopy::core {

struct GatheredFacts {
  // By namespace and rank: what their agents have said.
  std::map<std::string, std::map<Rank, ProcessFacts>> processes;
  std::map<NodeId, MemoryFacts> memory;
  // By namespace. The root's, which knows all; none: it has not said.
  std::optional<std::map<std::string, JobFacts>> all_jobs;
  // This agent's own.
  std::map<std::string, JobFacts> local_jobs;
  // Single jobs, as their controllers tell of them.
  std::map<std::string, JobFacts> controlled;
  // The VALUEs of the keys of job data, in the order of the queries; empty:
  // there is none.
  std::vector<Bytes> data;
  // What the host has answered: VALUEs, by the query's number and the key.
  std::map<std::pair<size_t, std::string>, std::string> host;
  // Of server/core/step/host_services.h.
  uint64_t host_services = 0;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_QUERY_GATHERED_FACTS_H_
