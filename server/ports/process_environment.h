// What is added to the environment that a process is started with: each kind of
// endpoint contributes what its clients need to find it. Loop thread.
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
  // NAME=VALUE for every rank of the job on this node.
  virtual std::vector<std::string> ForJob(const core::PrepareLocal& job) = 0;
  // NAME=VALUE for one rank on top of that.
  virtual std::vector<std::string> ForRank(const core::PrepareLocal& job,
                                           Rank rank) = 0;
  // A descriptor that the process inherits, or -1. Ownership goes to the
  // caller. `name` is the variable that tells the process its number.
  struct InheritedFd {
    int fd = -1;
    std::string name;
  };
  virtual InheritedFd FdForRank(const core::PrepareLocal& job, Rank rank) = 0;
  // The rank's process exists.
  virtual void OnProcess(const std::string& nspace, Rank rank, int pid) = 0;
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_PROCESS_ENVIRONMENT_H_
