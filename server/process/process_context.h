// What the jobs of a node's processes share.
#ifndef CANOPY_SERVER_PROCESS_PROCESS_CONTEXT_H_
#define CANOPY_SERVER_PROCESS_PROCESS_CONTEXT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/event_loop.h"
#include "common/ids.h"
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
  std::string shim_path;    // the canopy-shim program
  std::string runtime_dir;  // exists; belongs to the agent, mode 0700
  NodeId self = 0;          // which of the job's nodes is this one
  EnvironmentRules environment;
  // The directory that a job has on this node (PMIX_NSDIR), empty when it has
  // none. Null: no job has one.
  std::function<std::string(const std::string& nspace)> job_directory;
  // How many files a process may have open at first (its soft limit). 0: as
  // many as this one.
  uint64_t open_files = 0;
  // How long processes live without an agent. 0: they end with it.
  uint32_t orphan_ms = 30000;
  // Bytes of a job's output that may wait for CreditOutput on this node.
  uint64_t output_window = 1u << 20;
};

// What every job of the adapter shares. Outlives them.
struct ProcessContext {
  EventLoop* loop = nullptr;
  InputSink* sink = nullptr;
  ProcessOptions options;
  std::vector<ProcessEnvironment*> environments;
  UniqueFd runtime_dir;
  FindingCache* findings = nullptr;
  // StartShim, for the namespace.
  std::function<Result<StartedShim>(const std::string& nspace)> start_shim;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_PROCESS_CONTEXT_H_
