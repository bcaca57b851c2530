// The arrival of a pod, from the pod's object.
#ifndef CANOPY_SERVER_KUBERNETES_GATEWAY_POD_ARRIVAL_H_
#define CANOPY_SERVER_KUBERNETES_GATEWAY_POD_ARRIVAL_H_

#include <string>

#include "common/status.h"
#include "server/kubernetes/api/pod.h"
#include "server/kubernetes/gangs/arrival.h"

namespace canopy::kubernetes {

// Returns the arrival of a pod whose shim runs in the container (empty:
// unknown), without the node and the command. kErrNotSupported: the pod belongs
// to no Indexed Job, or several of its containers request ranks and the
// container is none that the API server has reported. kErrNoPermissions: the
// container requests no ranks.
Result<Arrival> ArrivalOf(const Pod& pod, const std::string& container_id);

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_GATEWAY_POD_ARRIVAL_H_
