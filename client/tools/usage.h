// The resources that processes and nodes use, as agents measure them.
#ifndef CANOPY_CLIENT_TOOLS_USAGE_H_
#define CANOPY_CLIENT_TOOLS_USAGE_H_

#include <map>
#include <string>
#include <vector>

#include "pmix_types.h"

namespace canopy::tools {

struct ProcessUsage {
  std::string node;
  char os_state = '\0';    // the kernel's letter; 0: not known
  double cpu_seconds = 0;  // used since the start of the process
  double memory_mb = 0;    // resident; 1 MB is 2^20 bytes
};

// Returns the usage of each process of the job whose agent answers, by rank.
std::map<pmix_rank_t, ProcessUsage> UsageOfJob(const std::string& nspace);

struct NodeUsage {
  std::string node;
  double load = 0;  // load average of the last minute
  double memory_total_mb = 0;
  double memory_free_mb = 0;  // includes the memory of caches and buffers
};

// Returns the usage of the nodes of these names whose agents answer.
std::vector<NodeUsage> UsageOfNodes(const std::vector<std::string>& nodes);

}  // namespace canopy::tools

#endif  // CANOPY_CLIENT_TOOLS_USAGE_H_
