// The CPU and memory that nodes and jobs use, for `canopy top`.
#ifndef CANOPY_CLIENT_CLI_COMMANDS_USAGE_TEXT_H_
#define CANOPY_CLIENT_CLI_COMMANDS_USAGE_TEXT_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "client/cli/base/json.h"

namespace canopy::cli {

struct UsageReport {
  struct Node {
    double load = 0;
    double memory_mb = 0;
    double memory_free_mb = 0;
  };
  struct Job {
    uint64_t processes = 0;
    double cpu_seconds = 0;
    double memory_mb = 0;
  };
  std::map<std::string, Node> nodes;
  std::map<std::string, Job> jobs;
  std::chrono::steady_clock::time_point at = {};
};

// Reads the document of `canopy-tool usage`.
UsageReport ReadUsage(const Json& document);

// Returns the CPUs that the job has used on average between the two reports, or
// a negative number if one of the reports does not have the job or its CPU time
// has decreased, because processes have ended.
double CpusOf(const std::string& job, const UsageReport& before,
              const UsageReport& now);

// Each function returns one row for each node or job; an empty text if there is
// none.
std::string NodeUsageText(const UsageReport& now);
std::string JobUsageText(const UsageReport& before, const UsageReport& now);
// Adds the members "node_usage" and "job_usage" to the document.
void AddUsage(const UsageReport& before, const UsageReport& now, Json* to);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_COMMANDS_USAGE_TEXT_H_
