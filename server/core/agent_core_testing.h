// A fixture with one agent's core and a job whose two ranks are connected.
#ifndef CANOPY_SERVER_CORE_AGENT_CORE_TESTING_H_
#define CANOPY_SERVER_CORE_AGENT_CORE_TESTING_H_

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "common/job.h"
#include "server/core/agent_core.h"
#include "server/core/core_testing.h"

namespace canopy::core {

// Agent 0 of 2, with both ranks of `job` (named "job") as clients 1 and 2.
class OneAgentTest : public testing::Test {
 protected:
  explicit OneAgentTest(std::shared_ptr<const JobSpec> job = JobOn("job",
                                                                   {0, 0}))
      : core_(Config()) {
    Step(LaunchRequested{std::move(job)});
    Step(LocalPrepared{"job", 0, ""});
    Step(LocalStarted{"job", 2, 0, ""});
    Step(ClientConnected{1, {"job", 0}});
    Step(ClientConnected{2, {"job", 1}});
  }
  static CoreConfig Config() {
    CoreConfig config;
    config.node_names = {"a", "b"};
    config.about = "me";
    return config;
  }
  Actions Step(Input input) { return core_.Step(now_, std::move(input)); }

  AgentCore core_;
  TimeNs now_ = 0;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_AGENT_CORE_TESTING_H_
