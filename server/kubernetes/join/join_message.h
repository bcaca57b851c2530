// Arrivals as messages.
#ifndef CANOPY_SERVER_KUBERNETES_JOIN_JOIN_MESSAGE_H_
#define CANOPY_SERVER_KUBERNETES_JOIN_JOIN_MESSAGE_H_

#include "protos/pods.pb.h"
#include "server/kubernetes/gangs/arrival.h"

namespace canopy::kubernetes {

namespace v1 = canopy::pods::v1;

v1::JoinRequest ToMessage(const Arrival& arrival);
Arrival FromMessage(const v1::JoinRequest& request);

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_JOIN_JOIN_MESSAGE_H_
