// Environment variables by which processes find their agent.
#ifndef CANOPY_SERVER_LOCAL_ENVIRONMENT_H_
#define CANOPY_SERVER_LOCAL_ENVIRONMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/ids.h"
#include "server/core/step/process_actions.h"

namespace canopy::local {

struct EnvironmentOptions {
  NodeId self = 0;
  std::string socket_path;
  std::string runtime_dir;  // PMIX_SERVER_TMPDIR
  std::string system_tmpdir = "/tmp";
  std::string pmix_version = "4.2.2";  // PMIX_VERSION
  uint32_t reattach_ms = 0;            // 0: no successor is awaited
};

// NAME=VALUE that every rank of the job on this node gets, Open MPI's included.
std::vector<std::string> JobEnvironment(const core::PrepareLocal& job,
                                        const EnvironmentOptions& options);

// NAME=VALUE of one rank on top of that.
std::vector<std::string> RankEnvironment(const core::PrepareLocal& job,
                                         Rank rank, const std::string& token);

// Variables that a process must not inherit from whatever started the agent or
// the launcher, because they would lead it to another job's server. A name that
// ends in '*' stands for all that begin so.
const std::vector<std::string>& UnsetNames();

}  // namespace canopy::local

#endif  // CANOPY_SERVER_LOCAL_ENVIRONMENT_H_
