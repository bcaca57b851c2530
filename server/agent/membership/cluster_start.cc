#include "server/agent/membership/cluster_start.h"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "common/hex.h"
#include "common/hosts.h"
#include "common/posix/private_dir.h"
#include "server/agent/persistence/agent_state.h"
#include "server/overlay/frame.h"
#include "server/security/cluster_key.h"

namespace canopy::agent {
namespace {

constexpr size_t kOverlayIdBytes = 16;

std::string AddressOf(const ClusterNode& node) {
  return ClusterAddress(node.host, node.port);
}

// Returns true if several nodes have the address of one machine, as in a test.
bool SharesHosts(const ClusterFile& file) {
  std::set<std::string_view> hosts;
  return !std::ranges::all_of(file.nodes, [&](const ClusterNode& node) {
    return hosts.insert(node.host).second;
  });
}

bootstrap::v1::Config Credentials(const ClusterFile& file,
                                  const security::ClusterKey& key) {
  bootstrap::v1::Config config;
  config.set_cluster_key(FromHex(key.ToHex()).value_or(""));
  config.set_security(file.security);
  config.set_tls_ca(file.tls_ca);
  config.set_tls_cert(file.tls_cert);
  config.set_tls_key(file.tls_key);
  for (const std::string& name : file.tls_names) config.add_tls_names(name);
  return config;
}

void Fill(const ClusterKubernetes& kubernetes,
          bootstrap::v1::Kubernetes* config) {
  config->set_host_proc(kubernetes.host_proc);
  config->set_device_plugins(kubernetes.device_plugins);
  config->set_resource(kubernetes.resource);
  config->set_host_run(kubernetes.host_run);
  config->set_host_files(kubernetes.host_files);
  config->set_start_deadline_ms(kubernetes.start_deadline_ms);
}

bootstrap::v1::Config ConfigOf(const ClusterFile& file,
                               const security::ClusterKey& key, NodeId self) {
  const ClusterNode& node = file.nodes[self];
  bootstrap::v1::Config config = Credentials(file, key);
  config.set_version(1);
  config.set_overlay_id(key.Derive(file.IdText(), kOverlayIdBytes));
  config.set_node_name(node.name);
  config.set_self(self);
  config.set_context(file.name);
  config.set_radix(file.radix);
  config.set_runtime_dir(file.DirectoryOf(node));
  config.set_listen(AddressOf(node));
  config.set_control_listen(ClusterAddress(node.host, node.control_port));
  config.set_emulated(SharesHosts(file));
  config.set_log_level(file.log_level);
  config.set_loss_timeout_ms(file.loss_timeout_ms);
  config.set_restart_grace_ms(file.restart_grace_ms);
  config.set_orphan_grace_ms(file.orphan_grace_ms);
  config.set_host_module(file.host_module);
  config.set_cluster_file(file.path);
  config.set_max_jobs_per_user(file.max_jobs_per_user);
  config.set_max_procs_per_user(file.max_procs_per_user);
  config.set_serves_all_users(file.serves_all_users);
  config.set_operators(file.operators);
  if (file.kubernetes.pods) {
    Fill(file.kubernetes, config.mutable_kubernetes());
  }
  for (const ClusterNode& one : file.nodes) config.add_member_names(one.name);
  return config;
}

bootstrap::v1::Members MembersOf(const ClusterFile& file, NodeId self) {
  bootstrap::v1::Members members;
  for (const ClusterNode& node : file.nodes) {
    bootstrap::v1::NodeInfo* const info = members.add_nodes();
    info->set_name(node.name);
    info->set_address(AddressOf(node));
  }
  members.set_known(overlay::EncodeMembers(
      overlay::NoneUp(static_cast<uint32_t>(file.nodes.size()), self)));
  return members;
}

Status MakeParent(const ClusterFile& file) {
  const auto make = file.serves_all_users ? MakeSearchableDir : MakePrivateDir;
  const std::string& path = file.directory;
  const Status status = make(path);
  if (status.code() != kErrNotFound) return status;
  const Status parent = make(path.substr(0, path.rfind('/')));
  return parent.ok() ? make(path) : parent;
}

// Only root can start processes of other users.
Status CheckUsers(const ClusterFile& file) {
  if (!file.serves_all_users || geteuid() == 0) return Status();
  return Status(kErrNoPermissions,
                file.path + ": agents with 'users = \"all\"' run as root");
}

}  // namespace

Result<ClusterStart> StartInCluster(const ClusterFile& file, NodeId self) {
  const Result<security::ClusterKey> key =
      security::ClusterKey::Load(file.key_file);
  if (!key.ok()) return key.status();
  Result<ClusterStart> start = ClusterStart();
  start->config = ConfigOf(file, *key, self);
  start->from_dns = file.nodes_from == NodesFrom::kDns;
  start->members = MembersOf(file, self);
  if (Status status = CheckUsers(file); !status.ok()) return status;
  if (Status status = MakeParent(file); !status.ok()) return status;
  const Result<bootstrap::v1::AgentState> state =
      LoadState(start->config.runtime_dir());
  if (state.code() == kErrNotFound) return start;
  const Status status =
      state.ok() ? ContinueCluster(*state, &*start) : state.status();
  if (!status.ok()) return status;
  return start;
}

Result<ClusterStart> StartAtPlace(ClusterFile file, const ClusterPlace& place) {
  file.nodes = place.nodes;
  Result<ClusterStart> start = StartInCluster(file, place.self);
  if (start.ok() && place.members) start->members = *place.members;
  return start;
}

Result<std::optional<ClusterStart>> StartFromState(ClusterFile file,
                                                   const std::string& name) {
  const Result<bootstrap::v1::AgentState> state =
      LoadState(file.DirectoryOf({name, name, 0, 0}));
  if (state.code() == kErrNotFound) return std::optional<ClusterStart>();
  if (!state.ok()) return state.status();
  file.nodes.clear();
  for (const bootstrap::v1::NodeInfo& info : state->members().nodes()) {
    file.nodes.push_back({info.name(), HostOfAddress(info.address()), file.port,
                          file.control_port});
  }
  const NodeId self = state->config().self();
  if (self >= file.nodes.size() || file.nodes[self].name != name) {
    return Status(kErrBadParam, file.DirectoryOf({name, name, 0, 0}) +
                                    " has the state of another node");
  }
  Result<ClusterStart> start = StartInCluster(file, self);
  if (!start.ok()) return start.status();
  return std::optional<ClusterStart>(*std::move(start));
}

Result<bootstrap::v1::Config> CredentialsOfCluster(const ClusterFile& file) {
  const Result<security::ClusterKey> key =
      security::ClusterKey::Load(file.key_file);
  if (!key.ok()) return key.status();
  return Credentials(file, *key);
}

Status ContinueCluster(const bootstrap::v1::AgentState& state,
                       ClusterStart* start) {
  const std::string& directory = start->config.runtime_dir();
  const auto& stored = state.config();
  if (stored.overlay_id() != start->config.overlay_id() ||
      stored.self() != start->config.self()) {
    return Status(kErrBadParam,
                  directory +
                      " has the state of a member of another overlay, or of "
                      "another order of nodes; end its jobs and remove it");
  }
  bootstrap::v1::Members members = state.members();
  const int known = std::min(members.nodes_size(), start->members.nodes_size());
  for (int i = 0; i < known; ++i) {
    const auto& listed = start->members.nodes(i);
    if (members.nodes(i).name() == listed.name()) {
      members.mutable_nodes(i)->set_address(listed.address());
    }
  }
  start->config.set_predecessor(stored.predecessor());
  start->config.set_pmix_port(stored.pmix_port());
  *start->config.mutable_member_names() = stored.member_names();
  start->members = std::move(members);
  start->restarts = true;
  return Status();
}

Result<std::vector<ClusterNode>> NewClusterNodes(
    const ClusterFile& file, const bootstrap::v1::Members& known) {
  const auto num_known = static_cast<size_t>(known.nodes_size());
  for (size_t i = 0; i < std::min(num_known, file.nodes.size()); ++i) {
    const std::string& name = known.nodes(static_cast<int>(i)).name();
    if (name == file.nodes[i].name) continue;
    return Status(kErrBadParam,
                  file.path + ": node " + std::to_string(i) + " is " + name +
                      ", not " + file.nodes[i].name +
                      "; add new nodes at the end of the list, and leave those "
                      "that 'canopy node remove' has removed where they are");
  }
  if (file.nodes.size() <= num_known) return std::vector<ClusterNode>();
  return std::vector<ClusterNode>(
      file.nodes.begin() + static_cast<std::ptrdiff_t>(num_known),
      file.nodes.end());
}

}  // namespace canopy::agent
