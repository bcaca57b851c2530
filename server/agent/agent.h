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

// Life: Prepare makes everything that listens; the launcher then collects what
// each member is; Join links them; Run serves until Stop, a signal or the end of
// its input, which a daemon heeds until it is ready. One thread, the one that calls Run.
class Agent {
 public:
  explicit Agent(bootstrap::v1::Config config);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Fills in what this node is.
  Status Prepare(bootstrap::v1::NodeInfo* info);
  // `channel` is told the state until the agent is ready. A daemon calls
  // `detach` then, once, and does not use the channel again.
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
