// What was found out for the queries of one call.
#ifndef CANOPY_SERVER_CORE_QUERY_GATHERED_FACTS_H_
#define CANOPY_SERVER_CORE_QUERY_GATHERED_FACTS_H_

#include <map>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/messages.h"

namespace canopy::core {

struct GatheredFacts {
  // By namespace and rank: what their agents have said.
  std::map<std::string, std::map<Rank, ProcessFacts>> processes;
  std::map<NodeId, MemoryFacts> memory;
  std::map<std::string, JobFacts> jobs;
  // Whoever knows all jobs has said which there are.
  bool has_all_jobs = false;
  // The VALUEs of the keys of job data, in the order of the queries; empty:
  // there is none.
  std::vector<Bytes> data;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_QUERY_GATHERED_FACTS_H_
