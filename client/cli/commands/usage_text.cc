#include "client/cli/commands/usage_text.h"

#include <cstdio>
#include <utility>

#include "client/cli/base/table.h"

namespace canopy::cli {
namespace {

std::string Fixed(double number, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, number);
  return text;
}

// Returns, for example, "512 MB" or "3.5 GB"; 1 MB is 2^20 bytes.
std::string MemoryText(double mb) {
  return mb < 1024 ? Fixed(mb, 0) + " MB" : Fixed(mb / 1024, 1) + " GB";
}

}  // namespace

UsageReport ReadUsage(const Json& document) {
  UsageReport report;
  report.at = std::chrono::steady_clock::now();
  for (const Json& node : document.value("nodes", Json::array())) {
    report.nodes[node.value("node", "")] = {node.value("load", 0.0),
                                            node.value("memory_mb", 0.0),
                                            node.value("memory_free_mb", 0.0)};
  }
  for (const Json& job : document.value("jobs", Json::array())) {
    report.jobs[job.value("job", "")] = {job.value("processes", uint64_t{0}),
                                         job.value("cpu_seconds", 0.0),
                                         job.value("memory_mb", 0.0)};
  }
  return report;
}

double CpusOf(const std::string& job, const UsageReport& before,
              const UsageReport& now) {
  const auto first = before.jobs.find(job);
  const auto second = now.jobs.find(job);
  const double seconds =
      std::chrono::duration<double>(now.at - before.at).count();
  if (first == before.jobs.end() || second == now.jobs.end() || seconds <= 0) {
    return -1;
  }
  // The difference is negative if processes have ended meanwhile, because their
  // CPU time is no longer included.
  const double used = second->second.cpu_seconds - first->second.cpu_seconds;
  return used < 0 ? -1 : used / seconds;
}

std::string NodeUsageText(const UsageReport& now) {
  if (now.nodes.empty()) return "";
  Table table({"NODE", "LOAD", "MEMORY USED", "OF"});
  for (const auto& [name, node] : now.nodes) {
    table.Add({name, Fixed(node.load, 2),
               MemoryText(node.memory_mb - node.memory_free_mb),
               MemoryText(node.memory_mb)});
  }
  return "\n" + table.ToString();
}

std::string JobUsageText(const UsageReport& before, const UsageReport& now) {
  if (now.jobs.empty()) return "";
  Table table({"JOB", "PROCS", "CPUS BUSY", "CPU TIME", "MEMORY"});
  for (const auto& [name, job] : now.jobs) {
    const double cpus = CpusOf(name, before, now);
    table.Add({name, std::to_string(job.processes),
               cpus < 0 ? "-" : Fixed(cpus, 1),
               AgeText(static_cast<uint64_t>(job.cpu_seconds)),
               MemoryText(job.memory_mb)});
  }
  return "\n" + table.ToString();
}

void AddUsage(const UsageReport& before, const UsageReport& now, Json* to) {
  (*to)["node_usage"] = Json::array();
  for (const auto& [name, node] : now.nodes) {
    Json one;
    one["node"] = name;
    one["load"] = node.load;
    one["memory_mb"] = node.memory_mb;
    one["memory_free_mb"] = node.memory_free_mb;
    (*to)["node_usage"].push_back(std::move(one));
  }
  (*to)["job_usage"] = Json::array();
  for (const auto& [name, job] : now.jobs) {
    const double cpus = CpusOf(name, before, now);
    Json one;
    one["job"] = name;
    one["processes"] = job.processes;
    one["cpus_busy"] = cpus < 0 ? Json() : Json(cpus);
    one["cpu_seconds"] = job.cpu_seconds;
    one["memory_mb"] = job.memory_mb;
    (*to)["job_usage"].push_back(std::move(one));
  }
}

}  // namespace canopy::cli
