// Which pods a gang lacks, and why.
#ifndef CANOPY_SERVER_KUBERNETES_GANGS_MISSING_PODS_H_
#define CANOPY_SERVER_KUBERNETES_GANGS_MISSING_PODS_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "server/kubernetes/api/pod.h"

namespace canopy::kubernetes {

// Returns one line, such as "1 of 4 pods missing: solver-3: Pending
// (Unschedulable: 0/2 nodes are available)". Names the first few pods.
// `completions` is the number of pods of the Job (0: unknown), `present` has
// the indexes that have arrived, and `pods` are all pods that exist.
std::string MissingPodsText(uint32_t completions,
                            const std::set<uint32_t>& present,
                            const std::vector<Pod>& pods);

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_GANGS_MISSING_PODS_H_
