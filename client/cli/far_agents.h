// Agents that cannot be asked over a socket of this machine.
#ifndef CANOPY_CLIENT_CLI_FAR_AGENTS_H_
#define CANOPY_CLIENT_CLI_FAR_AGENTS_H_

#include <memory>

#include "client/cli/context.pb.h"
#include "client/cli/run_connection.h"
#include "common/status.h"

namespace canopy::cli {

class FarAgents {
 public:
  virtual ~FarAgents() = default;
  // Does what the first call costs, while agents come up.
  virtual void WarmUp() = 0;
  // To the agent that takes the jobs of an overlay that is up: `member`. Waits
  // while there is a change of who that is.
  virtual Result<std::unique_ptr<RunConnection>> DialRoot(
      const v1::Context& overlay, int* member) = 0;
  virtual Result<std::unique_ptr<RunConnection>> DialMember(
      const v1::Context& overlay, int member) = 0;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_FAR_AGENTS_H_
