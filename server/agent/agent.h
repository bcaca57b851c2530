// One node agent: adapters, core and control service put together.
#ifndef CANOPY_SERVER_AGENT_AGENT_H_
#define CANOPY_SERVER_AGENT_AGENT_H_

#include <memory>
#include <string>

#include "common/event_loop.h"
#include "common/status.h"
#include "protos/bootstrap.pb.h"
#include "server/agent/bring_up/bootstrap_channel.h"

namespace canopy::agent {

// Life: Prepare makes everything that listens and, before that, recovers what a
// predecessor has persisted; the launcher then collects the members'
// descriptions; Join links them; Run serves until Stop, a signal or the end of
// its input, which a daemon heeds until it is ready. One thread, the one that
// calls Run.
class Agent {
 public:
  // `restarted`: recover the jobs and the membership of a predecessor on this
  // node.
  explicit Agent(bootstrap::v1::Config config, bool restarted = false);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Fills in what this node is.
  Status Prepare(bootstrap::v1::NodeInfo* info);
  // `channel` receives the state until the agent is ready; may be null. Then
  // the agent calls `on_ready`, once; a daemon does not use the channel again.
  // An agent that was restarted calls `on_ready` at once.
  void Join(const bootstrap::v1::Members& members, BootstrapChannel* channel,
            std::function<void()> on_ready);
  // Returns when the agent is to end.
  void Run();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_AGENT_H_
