#include "server/agent/emulation.h"

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
  if (Names(job.job->env, "OMPI_MCA_btl_tcp_if_")) return {};
  return {"OMPI_MCA_btl_tcp_if_include=lo"};
}

}  // namespace canopy::agent
