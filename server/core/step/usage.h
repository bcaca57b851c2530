// Statistics of the resources that processes and nodes use
// (PMIX_MONITOR_PROC_RESOURCE_USAGE and the similar keys of
// PMIx_Process_monitor).
#ifndef CANOPY_SERVER_CORE_STEP_USAGE_H_
#define CANOPY_SERVER_CORE_STEP_USAGE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"

namespace canopy::core {

// The requested statistics: for each kind, bits of the tables in
// server/core/step/usage_keys.h. 0: no statistics of that kind are requested.
struct UsageFields {
  uint64_t proc = 0;
  uint64_t node = 0;
  uint64_t disk = 0;
  uint64_t net = 0;

  // Returns true if any statistics of a node are requested.
  bool of_node() const { return (node | disk | net) != 0; }
  bool any() const { return proc != 0 || of_node(); }
  bool operator==(const UsageFields&) const = default;
};

// One pmix_node_pid_t.
struct NodePid {
  std::string host;  // empty: `nodeid` names the node
  uint32_t nodeid = 0;
  int pid = 0;  // -1: all processes of the node

  bool operator==(const NodePid&) const = default;
};

// The subjects of a sample. Processes are those that `procs` or `pids` name or,
// if neither names any, those of the caller's session. They are restricted to
// the named nodes. Without named nodes, statistics of nodes are about all nodes
// of the caller's job, and those of disks and networks about the caller's node.
struct UsageTargets {
  std::vector<ProcId> procs;  // kRankWildcard: all of the namespace
  std::vector<NodePid> pids;
  std::vector<std::string> hosts;
  std::vector<uint32_t> nodeids;
  std::vector<std::string> disks;  // empty: all disks
  std::vector<std::string> nets;   // empty: all interfaces
  bool local_only = false;         // only on the caller's node

  bool names_nodes() const { return !hosts.empty() || !nodeids.empty(); }
  bool names_processes() const { return !procs.empty() || !pids.empty(); }
  bool operator==(const UsageTargets&) const = default;
};

// Input: requests one sample of statistics for a process. The answer is
// UsageTaken.
struct UsageWanted {
  uint64_t number = 0;
  ProcId caller;
  UsageFields fields;
  UsageTargets targets;
};

// Action: the answer to UsageWanted.
struct UsageTaken {
  uint64_t number = 0;  // number of the UsageWanted
  int status = 0;
  Bytes results;  // codec form: SIZE n, then n INFO; or empty
};

// Maximum number of bytes of the results of one sample; a larger one fails with
// kErrOutOfResource.
inline constexpr size_t kMaxUsageBytes = size_t{1} << 20;

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_USAGE_H_
