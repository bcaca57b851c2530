// The facts collected for the queries of one call.
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
  // Facts of processes by namespace and rank, as the processes' agents reported
  // them.
  std::map<std::string, std::map<Rank, ProcessFacts>> processes;
  std::map<NodeId, MemoryFacts> memory;
  // FactsReply::usage of each node.
  std::map<NodeId, Bytes> usage;
  // The root's answer, which includes all jobs, by namespace; no value if the
  // root has not answered.
  std::optional<std::map<std::string, JobFacts>> all_jobs;
  // This agent's own jobs.
  std::map<std::string, JobFacts> local_jobs;
  // Facts of single jobs, as the jobs' controllers reported them.
  std::map<std::string, JobFacts> controlled;
  // The values of the requested keys of job data, each as an encoded VALUE, in
  // the order in which the queries name the keys. An element is empty if its
  // key has no value.
  std::vector<Bytes> data;
  // The host's answers, each as an encoded VALUE, by the number of the query
  // and the key.
  std::map<std::pair<size_t, std::string>, std::string> host;
  // Bits of server/core/step/host_services.h.
  uint64_t host_services = 0;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_QUERY_GATHERED_FACTS_H_
