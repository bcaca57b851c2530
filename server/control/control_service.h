// The gRPC service of protos/control.proto. It only moves its calls to the loop
// thread, where JobManager and the agent handle them.
#ifndef CANOPY_SERVER_CONTROL_CONTROL_SERVICE_H_
#define CANOPY_SERVER_CONTROL_CONTROL_SERVICE_H_

#include <functional>
#include <memory>

#include "common/event_loop.h"
#include "common/status.h"
#include "protos/control.pb.h"
#include "server/control/job_manager.h"

namespace grpc {
class Service;
}

namespace canopy::control {

// Functions of the agent that the service needs in addition to the jobs. All
// run on the loop thread.
struct AgentView {
  // The group of operators (FindUser); empty: none.
  std::string operators;
  std::function<v1::StatusReply()> status;
  // Returns the name of a member, for texts.
  std::function<std::string(NodeId)> node_name;
  // Execute Control.AddNodes and Control.DecideNodes.
  std::function<Result<v1::AddNodesReply>(const v1::AddNodesRequest&)>
      add_nodes;
  std::function<Result<v1::DecideNodesReply>(const v1::DecideNodesRequest&)>
      decide_nodes;
  // Ends the whole overlay after the reply has been sent.
  std::function<void()> shut_down;
  // Begins a handover to another program; an empty path means this agent's own
  // program. First calls `done` with success, or with the reason why there is
  // no handover.
  std::function<void(const std::string& program,
                     std::function<void(const Status&)> done)>
      replace;
};

// A call with kUserMetadata (common/user_calls.h) is one of that user, who sees
// and ends only jobs of the same user, unless the user is an operator. Any
// other call is one of the agent's own user. So the service may be offered only
// to callers who are trusted to name a user.
//
// Created before the server starts, and outlives the server. `loop` and
// `job_manager` must outlive the service.
class ControlService {
 public:
  ControlService(EventLoop* loop, JobManager* job_manager, AgentView view);
  ~ControlService();

  // Returns the service to register with the server builder.
  grpc::Service* service();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_CONTROL_SERVICE_H_
