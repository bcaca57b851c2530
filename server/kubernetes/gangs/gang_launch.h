// The launch of a complete gang.
#ifndef CANOPY_SERVER_KUBERNETES_GANGS_GANG_LAUNCH_H_
#define CANOPY_SERVER_KUBERNETES_GANGS_GANG_LAUNCH_H_

#include <string>
#include <vector>

#include "server/kubernetes/gangs/arrival.h"
#include "server/ports/job_commands_port.h"

namespace canopy::kubernetes {

// Returns the launch of the job that consists of these pods, which are in the
// order of their indexes and have the same number of ranks. Pod i has the ranks
// from i * ranks on. `name` is the GangName.
HostLaunch LaunchOf(const std::string& name,
                    const std::vector<const Arrival*>& pods);

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_GANGS_GANG_LAUNCH_H_
