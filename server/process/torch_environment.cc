#include "server/process/torch_environment.h"

#include <string_view>

namespace canopy::process {
namespace {

std::string Entry(std::string_view name, size_t value) {
  return std::string(name) + "=" + std::to_string(value);
}

}  // namespace

std::vector<std::string> TorchJobVariables(const JobSpec& job) {
  if (job.rendezvous_host.empty()) return {};
  return {"MASTER_ADDR=" + job.rendezvous_host,
          Entry("WORLD_SIZE", job.procs.size()),
          Entry("GROUP_WORLD_SIZE", job.nodes.size()), "ROLE_NAME=default",
          Entry("ROLE_WORLD_SIZE", job.procs.size()),
          "TORCHELASTIC_RUN_ID=" + job.nspace, "TORCHELASTIC_RESTART_COUNT=0",
          Entry("TORCHELASTIC_MAX_RESTARTS", job.max_restarts),
          // Rank 0 itself serves the store.
          "TORCHELASTIC_USE_AGENT_STORE=False"};
}

std::vector<std::string> TorchRankVariables(const core::PrepareLocal& prepare,
                                            Rank rank) {
  const JobSpec& job = *prepare.job;
  if (job.rendezvous_host.empty()) return {};
  const uint32_t node = job.procs[rank].node;
  return {
      Entry("RANK", rank),
      Entry("ROLE_RANK", rank),
      Entry("LOCAL_RANK", prepare.layout->numbers(rank).local_rank),
      Entry("LOCAL_WORLD_SIZE", prepare.layout->ranks_on(node).size()),
      Entry("GROUP_RANK", node),
  };
}

std::string TorchRestartVariable(uint32_t incarnation) {
  return Entry("TORCHELASTIC_RESTART_COUNT", incarnation);
}

std::string TorchPortVariable(uint16_t port) {
  return Entry("MASTER_PORT", port);
}

}  // namespace canopy::process
