// Data that the process adapter's jobs share.
#ifndef CANOPY_SERVER_PROCESS_PROCESS_CONTEXT_H_
#define CANOPY_SERVER_PROCESS_PROCESS_CONTEXT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/event_loop.h"
#include "common/ids.h"
#include "common/job.h"
#include "common/posix/named_fd.h"
#include "common/posix/unique_fd.h"
#include "common/status.h"
#include "server/ports/input_sink.h"
#include "server/ports/process_environment.h"
#include "server/process/finding_cache.h"
#include "server/process/job_environment.h"
#include "server/process/shim_start.h"

namespace canopy::process {

struct ProcessOptions {
  std::string shim_path;    // path of the canopy-shim program
  std::string runtime_dir;  // exists, belongs to the agent, and has mode 0700
  NodeId self = 0;          // the number of this agent
  EnvironmentRules environment;
  // Returns the directory of a job on this node (PMIX_NSDIR), or an empty
  // string if the job has none. An empty function means that no job has one.
  std::function<std::string(const std::string& nspace)> job_directory;
  // The soft limit on the open files of a process. 0: the limit of this
  // process.
  uint64_t open_files = 0;
  // The time, in milliseconds, that processes live without an agent. 0: they
  // end with their agent.
  uint32_t orphan_ms = 30000;
  // The limit, in bytes, of a job's output on this node that waits for
  // CreditOutput.
  uint64_t output_window = 1u << 20;
  // The time, in milliseconds, within which a shim answers after a kill.
  uint32_t shim_answer_ms = 5000;
  // Returns the connection to a shim that awaits the job in a Kubernetes pod of
  // this node, or the reason why there is none. Returns no value if the job is
  // none of pods, so that the agent starts a shim itself. May be empty.
  std::function<std::optional<Result<UniqueFd>>(const JobSpec& job)> pod_shim;
};

// The context is shared by all jobs of the adapter, and outlives them.
struct ProcessContext {
  EventLoop* loop = nullptr;
  InputSink* sink = nullptr;
  ProcessOptions options;
  std::vector<ProcessEnvironment*> environments;
  UniqueFd runtime_dir;
  FindingCache* findings = nullptr;
  // Returns the shim of a pod, or starts one by StartShim.
  std::function<Result<StartedShim>(const JobSpec& job)> start_shim;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_PROCESS_CONTEXT_H_
