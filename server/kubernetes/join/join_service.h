// The gRPC service of protos/pods.proto.
#ifndef CANOPY_SERVER_KUBERNETES_JOIN_JOIN_SERVICE_H_
#define CANOPY_SERVER_KUBERNETES_JOIN_JOIN_SERVICE_H_

#include <functional>
#include <memory>

#include "common/event_loop.h"
#include "server/kubernetes/gangs/arrival.h"

namespace grpc {
class Service;
}

namespace canopy::kubernetes {

// Moves calls to the loop's thread. Offered only to agents, because it believes
// its callers.
class JoinService {
 public:
  // Adds a pod, as Gangs::Arrive does, on the loop's thread. The result
  // withdraws the pod.
  using Arrive =
      std::function<std::function<void()>(Arrival arrival, Joined done)>;

  // Created before the server starts, and outlives the server; the loop
  // outlives this object.
  JoinService(EventLoop* loop, Arrive arrive);
  ~JoinService();

  // Returns the service to register with the server builder.
  grpc::Service* service();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_JOIN_JOIN_SERVICE_H_
