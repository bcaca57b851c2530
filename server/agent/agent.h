// One node agent: adapters, core and control service put together.
#ifndef CANOPY_SERVER_AGENT_AGENT_H_
#define CANOPY_SERVER_AGENT_AGENT_H_

#include <memory>
#include <string>

#include "common/event_loop.h"
#include "common/status.h"
#include "protos/bootstrap.pb.h"
#include "server/agent/bootstrap_channel.h"

namespace canopy::agent {

// Life: Prepare makes everything that listens, and before that, for an agent
// that takes the place of another, finds what that one has left; the launcher
// then collects what each member is; Join links them; Run serves until Stop, a
// signal or the end of its input, which a daemon heeds until it is ready. One
// thread, the one that calls Run.
class Agent {
 public:
  // `restarted`: an earlier agent of this node has left jobs and its place in
  // the overlay.
  explicit Agent(bootstrap::v1::Config config, bool restarted = false);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Fills in what this node is.
  Status Prepare(bootstrap::v1::NodeInfo* info);
  // `channel` is told the state until the agent is ready (null: nobody is). A
  // daemon calls `detach` then, once, and does not use the channel again; one
  // that was restarted calls it at once.
  void Join(const bootstrap::v1::Members& members, BootstrapChannel* channel,
            std::function<void()> detach);
  // Until it is told to end.
  void Run();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_AGENT_H_
