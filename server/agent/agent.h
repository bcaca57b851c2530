// One node agent: creates and connects the adapters, the core and the control
// service.
#ifndef CANOPY_SERVER_AGENT_AGENT_H_
#define CANOPY_SERVER_AGENT_AGENT_H_

#include <memory>
#include <string>

#include "common/event_loop.h"
#include "common/status.h"
#include "protos/bootstrap.pb.h"
#include "server/agent/bring_up/bootstrap_channel.h"

namespace canopy::agent {

// Prepare first recovers the state that a predecessor has persisted, and then
// creates all listening sockets. The launcher collects the descriptions of all
// members. Join links the members. Run serves until Stop, until a signal
// arrives, or until the agent's input ends; a daemon watches its input only
// until it is ready. All functions are called on one thread, the one that calls
// Run.
class Agent {
 public:
  // With `restarted`, the agent recovers the jobs and the membership of a
  // predecessor on this node.
  explicit Agent(bootstrap::v1::Config config, bool restarted = false);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Fills `*info` with the description of this node. Fails if the runtime
  // directory or a socket cannot be created, or if a setting is invalid.
  Status Prepare(bootstrap::v1::NodeInfo* info);
  // Links this agent with the other members. When the agent is ready, it
  // reports this through `channel`, which may be null, and calls `on_ready`
  // once. A daemon does not use the channel afterwards. A restarted agent calls
  // `on_ready` at once.
  void Join(const bootstrap::v1::Members& members, BootstrapChannel* channel,
            std::function<void()> on_ready);
  // Lets SIGHUP end this agent of a cluster while it is the only member of its
  // overlay and has no jobs. `note` is called before the end; the caller then
  // searches for the other agents again. Called before Run.
  void EndAloneOnHangup(std::function<void()> note);
  // Serves. Returns when the agent is to end.
  void Run();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_AGENT_H_
