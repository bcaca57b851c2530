// The file that describes a cluster whose agents run as services. Each agent
// starts by itself, finds the others from this file, and joins them. Users'
// commands find the agents from the same file. All nodes have the same file, or
// the beginning or continuation of it: a member's number is its place in the
// list of nodes, so new nodes are added at the end.
#ifndef CANOPY_COMMON_CLUSTER_CLUSTER_FILE_H_
#define CANOPY_COMMON_CLUSTER_CLUSTER_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace canopy {

inline constexpr char kClusterFile[] = "/etc/canopy/cluster.toml";

struct ClusterNode {
  std::string name;
  std::string host;  // at which its agent listens; the name if none is given
  uint32_t port = 0;
  uint32_t control_port = 0;
};

// Where the list of the nodes comes from (node_source.h).
enum class NodesFrom {
  kFile,      // the key "nodes"
  kBatchJob,  // the batch job of which the process is a part
  kDns,       // the addresses of a name
};

// The service for the pods of Kubernetes, of agents that run as a DaemonSet.
struct ClusterKubernetes {
  bool pods = false;  // the agents serve pods
  // A procfs in whose PID namespace the processes of all pods are.
  std::string host_proc = "/proc";
  // The kubelet's directory for device plugins; empty: the agents are none.
  std::string device_plugins;
  std::string resource = "canopy.dev/rank";  // that pods request
  // The directory of the node, which agents and pods share, and below which the
  // sockets for pods are; and the directory with Canopy's files for pods.
  std::string host_run = "/run/canopy";
  std::string host_files = "/opt/canopy";
  uint32_t start_deadline_ms = 300000;  // for which a pod waits for the others
};

struct ClusterFile {
  std::string path;
  std::string name = "cluster";
  NodesFrom nodes_from = NodesFrom::kFile;
  std::string dns_name;  // with kDns
  // The list of the file. Empty for another source, until WithNodes has read
  // that. Except with kDns, the index is the member's number.
  std::vector<ClusterNode> nodes;
  uint32_t port = 0;  // of nodes for which the list has no port
  uint32_t control_port = 0;
  std::string key_file;  // hexadecimal (security::ClusterKey::Load)
  // As in bootstrap.Config.
  std::string security = "tls";
  std::string tls_ca;
  std::string tls_cert;
  std::string tls_key;
  std::vector<std::string> tls_names;
  uint32_t radix = 32;
  uint32_t loss_timeout_ms = 0;
  uint32_t restart_grace_ms = 0;
  uint32_t orphan_grace_ms = 0;
  uint32_t max_jobs_per_user = 0;   // 0: the default
  uint32_t max_procs_per_user = 0;  // 0: the default
  std::string host_module;
  std::string log_level = "info";
  bool serves_all_users = false;  // otherwise only the user of the agents
  // With serves_all_users: the group whose users may do what root may. Empty:
  // only root.
  std::string operators;
  ClusterKubernetes kubernetes;
  // The parent of the agents' runtime directories. Without the key it is
  // /run/canopy for root and with serves_all_users, and otherwise a directory
  // in UserRuntimeDir().
  std::string directory;

  // Returns the runtime directory of a node's agent.
  std::string DirectoryOf(const ClusterNode& node) const {
    return directory + "/" + node.name;
  }
  // Returns the text from which the overlay's id is derived with the key.
  std::string IdText() const { return "overlay of cluster " + name; }
};

// Reads a file. Returns kErrNotFound if it cannot be opened, and kErrBadParam,
// with the file and the line, for an unknown key, an invalid value, a node that
// is listed twice, or a missing key.
Result<ClusterFile> ReadClusterFile(const std::string& path);

// Returns true for a name that a node may have. Names become parts of paths.
bool IsClusterNodeName(std::string_view name);

// Returns the number of the node that `name` names: by its whole name, else by
// the name before the first dot. Returns no value if there is none or several.
std::optional<uint32_t> FindClusterNode(const ClusterFile& file,
                                        std::string_view name);

// Returns HOST:PORT, with brackets around an IPv6 address.
std::string ClusterAddress(const std::string& host, uint32_t port);

}  // namespace canopy

#endif  // CANOPY_COMMON_CLUSTER_CLUSTER_FILE_H_
