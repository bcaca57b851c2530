// What processes need to know when several nodes are emulated on one machine.
#ifndef CANOPY_SERVER_AGENT_EMULATION_H_
#define CANOPY_SERVER_AGENT_EMULATION_H_

#include <string>
#include <vector>

#include "server/ports/ports.h"

namespace canopy::agent {

// Open MPI's TCP transport leaves out the loopback interface, which is all that
// emulated nodes share.
class EmulationEnvironment : public ProcessEnvironment {
 public:
  std::vector<std::string> ForJob(const core::PrepareLocal& job) override;
  std::vector<std::string> ForRank(const core::PrepareLocal&, Rank) override {
    return {};
  }
  InheritedFd FdForRank(const core::PrepareLocal&, Rank) override { return {}; }
  void OnProcess(const std::string&, Rank, int) override {}
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_EMULATION_H_
