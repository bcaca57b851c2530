// The environment of processes if several nodes of a job are on one machine.
#ifndef CANOPY_SERVER_AGENT_WIRING_EMULATION_H_
#define CANOPY_SERVER_AGENT_WIRING_EMULATION_H_

#include <functional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "server/core/step/process_actions.h"
#include "server/ports/process_environment.h"

namespace canopy::agent {

// Open MPI names its shared-memory files after host, user, job and local rank,
// which are equal on two nodes of one machine, so each node gets its own
// directory for the files. Open MPI's TCP transport excludes the loopback
// interface, which may be the only interface that the nodes share. Settings of
// the user have precedence.
class EmulationEnvironment : public ProcessEnvironment {
 public:
  // Enables the variables; before this call none are added. `loopback_only`
  // means that the nodes have no other interface in common. `job_directory`
  // returns this node's directory of a job, by namespace.
  void Enable(
      bool loopback_only,
      std::function<std::string(const std::string& nspace)> job_directory) {
    loopback_only_ = loopback_only;
    job_directory_ = std::move(job_directory);
  }

  std::vector<std::string> ForJob(const core::PrepareLocal& job) override;
  std::vector<std::string> ForRank(const core::PrepareLocal&, Rank) override {
    return {};
  }
  InheritedFd FdForRank(const core::PrepareLocal&, Rank) override { return {}; }
  void OnProcess(const std::string&, Rank, int) override {}

 private:
  bool loopback_only_ = false;
  std::function<std::string(const std::string& nspace)> job_directory_;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_WIRING_EMULATION_H_
