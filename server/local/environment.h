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
  uint32_t reattach_ms = 0;            // 0: no successor is expected
};

// Returns the NAME=VALUE entries of every rank of the job on this node,
// including Open MPI's.
std::vector<std::string> JobEnvironment(const core::PrepareLocal& job,
                                        const EnvironmentOptions& options);

// Returns the additional NAME=VALUE entries of one rank.
std::vector<std::string> RankEnvironment(const core::PrepareLocal& job,
                                         Rank rank, const std::string& token);

// Returns the variables that a process must not inherit from the environment of
// the agent or the launcher, because they would lead it to another job's
// server. A name that ends in '*' stands for all names with this prefix.
const std::vector<std::string>& UnsetNames();

}  // namespace canopy::local

#endif  // CANOPY_SERVER_LOCAL_ENVIRONMENT_H_
