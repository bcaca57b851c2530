#include "server/local/environment.h"

#include "common/local_protocol.h"

namespace canopy::local {
namespace {

std::string Entry(const char* name, const std::string& value) {
  return std::string(name) + "=" + value;
}

std::string Entry(const char* name, uint64_t value) {
  return Entry(name, std::to_string(value));
}

}  // namespace

std::vector<std::string> JobEnvironment(const core::PrepareLocal& job,
                                        const EnvironmentOptions& options) {
  const JobSpec& spec = *job.job;
  std::vector<std::string> env = {
      Entry(kEnvSocket, options.socket_path),
      Entry("PMIX_NAMESPACE", spec.nspace),
      Entry("PMIX_VERSION", options.pmix_version),
      Entry("PMIX_SERVER_TMPDIR", options.runtime_dir),
      Entry("PMIX_SYSTEM_TMPDIR", options.system_tmpdir),
      // Open MPI joins a job if it finds the address of a daemon, to which it
      // never connects.
      Entry("OMPI_MCA_orte_local_daemon_uri", "1.0;tcp://127.0.0.1:1"),
      Entry("OMPI_COMM_WORLD_SIZE", spec.procs.size()),
      Entry("OMPI_UNIVERSE_SIZE", spec.universe_size),
  };
  const uint32_t node = job.layout->node_of_agent(options.self);
  if (node != kNoNode) {
    env.push_back(Entry("PMIX_HOSTNAME", spec.nodes[node].name));
    env.push_back(
        Entry("OMPI_COMM_WORLD_LOCAL_SIZE", job.layout->ranks_on(node).size()));
  }
  if (options.reattach_ms > 0) {
    env.push_back(Entry(kEnvReattach, options.reattach_ms));
  }
  if (spec.oversubscribed) {
    env.push_back(Entry("OMPI_MCA_mpi_yield_when_idle", 1));
  }
  return env;
}

std::vector<std::string> RankEnvironment(const core::PrepareLocal& job,
                                         Rank rank, const std::string& token) {
  const RankNumbers& numbers = job.layout->numbers(rank);
  return {
      Entry("PMIX_RANK", rank),
      Entry(kEnvToken, token),
      Entry("OMPI_COMM_WORLD_RANK", rank),
      Entry("OMPI_COMM_WORLD_LOCAL_RANK", numbers.local_rank),
      Entry("OMPI_COMM_WORLD_NODE_RANK", numbers.node_rank),
  };
}

const std::vector<std::string>& UnsetNames() {
  static const auto* names = new std::vector<std::string>{
      "CANOPY_SOCKET",
      "CANOPY_TOKEN",
      "CANOPY_REATTACH_MS",
      "PMIX_NAMESPACE",
      "PMIX_RANK",
      "PMIX_ID",
      "PMIX_SERVER_URI*",
      "PMIX_SERVER_TMPDIR",
      "PMIX_SYSTEM_TMPDIR",
      "PMIX_SECURITY_MODE",
      "PMIX_BFROP_BUFFER_TYPE",
      "PMIX_GDS_MODULE",
      "PMIX_PTL_MODULE",
      "PMIX_DSTORE_*",
      "PMIX_HOSTNAME",
      "PMIX_VERSION",
      "PMIX_KEEPALIVE_PIPE",
      "PMIX_LAUNCHER_*",
      "PMI_FD",
      "PMI_PORT",
      "PMI_ID",
      "PMI_RANK",
      "PMI_SIZE",
      "PMI_SPAWNED",
      "PMI_JOBID",
      "PMI_PROCESS_MAPPING",
      "PMI2_*",
      "OMPI_COMM_WORLD_*",
      "OMPI_UNIVERSE_SIZE",
      "OMPI_FIRST_RANKS",
      "OMPI_NUM_APP_CTX",
      "OMPI_APP_CTX_NUM_PROCS",
      "OMPI_FILE_LOCATION",
      "OMPI_MCA_orte_*",
      "OMPI_MCA_ess*",
      "OMPI_MCA_initial_wdir",
      "OMPI_MCA_mpi_yield_when_idle",
  };
  return *names;
}

}  // namespace canopy::local
