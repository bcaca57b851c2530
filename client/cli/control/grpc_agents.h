// Agents reached by gRPC: agents of other machines, and a root that has taken
// over.
#ifndef CANOPY_CLIENT_CLI_CONTROL_GRPC_AGENTS_H_
#define CANOPY_CLIENT_CLI_CONTROL_GRPC_AGENTS_H_

#include <memory>

#include "client/cli/control/control_target.h"
#include "client/cli/control/remote_agents.h"

namespace canopy::cli {

// Connects by gRPC, wherever the agent is.
Result<std::unique_ptr<RunConnection>> DialRun(const ControlTarget& target);

class GrpcAgents : public RemoteAgents {
 public:
  void WarmUp() override;
  Result<std::unique_ptr<RunConnection>> DialRoot(const v1::Context& overlay,
                                                  int* member) override;
  Result<std::unique_ptr<RunConnection>> DialMember(const v1::Context& overlay,
                                                    int member) override;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTROL_GRPC_AGENTS_H_
