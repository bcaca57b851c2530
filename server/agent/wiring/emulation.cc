#include "server/agent/wiring/emulation.h"

#include <algorithm>
#include <string_view>

namespace canopy::agent {
namespace {

bool Names(const std::vector<std::string>& env, std::string_view prefix) {
  return std::any_of(env.begin(), env.end(), [&](const std::string& entry) {
    return entry.starts_with(prefix);
  });
}

}  // namespace

std::vector<std::string> EmulationEnvironment::ForJob(
    const core::PrepareLocal& job) {
  if (!job_directory_) return {};
  const std::vector<std::string>& given = job.job->env;
  std::vector<std::string> env;
  if (loopback_only_ && !Names(given, "OMPI_MCA_btl_tcp_if_")) {
    env.push_back("OMPI_MCA_btl_tcp_if_include=lo");
  }
  const std::string directory = job_directory_(job.job->nspace);
  for (const std::string owner : {"btl_vader", "osc_sm", "osc_rdma"}) {
    const std::string name = "OMPI_MCA_" + owner + "_backing_directory=";
    if (!Names(given, name)) env.push_back(name + directory);
  }
  return env;
}

}  // namespace canopy::agent
