// The gRPC service of protos/control.proto. Its calls only move to the loop
// thread; JobManager and the agent do the work there.
#ifndef CANOPY_SERVER_CONTROL_CONTROL_SERVICE_H_
#define CANOPY_SERVER_CONTROL_CONTROL_SERVICE_H_

#include <functional>
#include <memory>

#include "common/event_loop.h"
#include "server/control/job_manager.h"

namespace grpc {
class Service;
}

namespace canopy::control {

// What the service needs beyond the jobs. All run on the loop thread.
struct AgentView {
  std::function<v1::StatusReply()> status;
  // Name of a member, for texts.
  std::function<std::string(NodeId)> node_name;
  // Ends the whole overlay after the reply is on its way.
  std::function<void()> shut_down;
  // Hands over to another program (empty: its own). `done` gets, before that,
  // whether it will.
  std::function<void(const std::string& program,
                     std::function<void(const Status&)> done)>
      replace;
};

// Made before the server starts; outlives it. `loop` and `job_manager` outlive
// the service.
class ControlService {
 public:
  ControlService(EventLoop* loop, JobManager* job_manager, AgentView view);
  ~ControlService();

  // To register with the server builder.
  grpc::Service* service();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_CONTROL_SERVICE_H_
