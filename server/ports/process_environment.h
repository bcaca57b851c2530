// Additions to the environment of a started process: each kind of endpoint
// contributes what its clients need to find the endpoint. Loop thread only.
#ifndef CANOPY_SERVER_PORTS_PROCESS_ENVIRONMENT_H_
#define CANOPY_SERVER_PORTS_PROCESS_ENVIRONMENT_H_

#include <string>
#include <vector>

#include "common/ids.h"
#include "server/core/step/process_actions.h"

namespace canopy {

class ProcessEnvironment {
 public:
  virtual ~ProcessEnvironment() = default;
  // Returns NAME=VALUE for every rank of the job on this node.
  virtual std::vector<std::string> ForJob(const core::PrepareLocal& job) = 0;
  // Returns further NAME=VALUE for one rank.
  virtual std::vector<std::string> ForRank(const core::PrepareLocal& job,
                                           Rank rank) = 0;
  // A descriptor that the process inherits, or -1. The caller owns it. `name`
  // is the variable that contains its number in the process.
  struct InheritedFd {
    int fd = -1;
    std::string name;
  };
  virtual InheritedFd FdForRank(const core::PrepareLocal& job, Rank rank) = 0;
  // The rank's process was started.
  virtual void OnProcess(const std::string& nspace, Rank rank, int pid) = 0;
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_PROCESS_ENVIRONMENT_H_
