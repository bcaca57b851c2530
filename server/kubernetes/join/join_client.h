// Calls of protos/pods.proto at the agent that launches jobs.
#ifndef CANOPY_SERVER_KUBERNETES_JOIN_JOIN_CLIENT_H_
#define CANOPY_SERVER_KUBERNETES_JOIN_JOIN_CLIENT_H_

#include <functional>
#include <memory>
#include <string>

#include "common/event_loop.h"
#include "common/status.h"
#include "server/kubernetes/gangs/arrival.h"

namespace grpc {
class Channel;
}

namespace canopy::kubernetes {

// Repeats a call, at the agent that launches jobs then, while that agent cannot
// be reached. Loop thread only.
class JoinClient {
 public:
  struct Parts {
    EventLoop* loop = nullptr;
    // Adds a pod at this agent if it is the one that launches jobs, as
    // JoinService::Arrive does. Returns null otherwise.
    std::function<std::function<void()>(Arrival arrival, Joined done)> here;
    // Returns the channel to the agent that launches jobs, or why there is
    // none.
    std::function<Result<std::shared_ptr<grpc::Channel>>()> channel;
  };

  explicit JoinClient(Parts parts) : parts_(std::move(parts)) {}

  // Adds a pod. `done` is called later on the loop's thread. The result
  // withdraws the pod. The client outlives the call.
  std::function<void()> Join(Arrival arrival, Joined done);

 private:
  class Call;

  const Parts parts_;
};

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_JOIN_JOIN_CLIENT_H_
