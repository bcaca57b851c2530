// The nodes that a batch system allocated to the job that this process is part
// of.
#ifndef CANOPY_COMMON_ALLOCATION_ALLOCATION_H_
#define CANOPY_COMMON_ALLOCATION_ALLOCATION_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/hosts.h"
#include "common/status.h"

namespace canopy {

struct Allocation {
  std::string job;  // "Slurm job 17"
  // The hosts in the batch system's order. The first host runs the job's
  // script.
  std::vector<Host> hosts;
  // A command that starts a program on a host; {host} stands for the host's
  // name. Empty: the batch system has none, and its hosts are reached as hosts
  // outside of an allocation are.
  std::string launch_agent;
  // True if the launch agent is used for this machine too, and if the batch
  // system ends all processes that were started by the launch agent. Otherwise
  // Canopy has to end its processes itself.
  bool launches_all = false;
};

// Returns the allocation of Slurm (SLURM_JOB_ID, SLURM_JOB_NODELIST), PBS
// (PBS_JOBID, PBS_NODEFILE) or Grid Engine (PE_HOSTFILE): the first of these
// whose variables are set. Returns no value outside an allocation. The error
// describes a variable or file that is invalid. `environment` is getenv or a
// replacement.
Result<std::optional<Allocation>> FindAllocation(
    const std::function<char*(const char*)>& environment);

// Parses the lines "HOST SLOTS [QUEUE [CPUS]]" of a Grid Engine PE_HOSTFILE.
// Returns kErrBadParam for an invalid line or a file without hosts; the message
// names `file` and the line.
Result<std::vector<Host>> ParsePeHostfile(std::string_view content,
                                          const std::string& file);

}  // namespace canopy

#endif  // CANOPY_COMMON_ALLOCATION_ALLOCATION_H_
