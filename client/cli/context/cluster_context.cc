#include "client/cli/context/cluster_context.h"

#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "client/cli/base/file_util.h"
#include "client/cli/base/this_machine.h"
#include "client/cli/config/the_config.h"
#include "common/cluster/dns_nodes.h"
#include "common/cluster/node_source.h"
#include "common/hex.h"
#include "common/posix/boot_id.h"
#include "common/string_util.h"

namespace canopy::cli {
namespace {

constexpr size_t kMaxKeyFile = 4096;
constexpr char kSetting[] = "cluster-file";

// Returns the bytes of a key. The agents check who may read the file; a command
// that starts a job must not wait until a library for ciphers is loaded.
Result<std::string> KeyIn(const std::string& path) {
  const Result<std::string> text = ReadFile(path, kMaxKeyFile);
  if (!text.ok()) {
    return Status(text.code(), "cluster key " + text.status().message());
  }
  std::optional<std::string> key = FromHex(Trim(*text));
  if (key) return *std::move(key);
  return Status(kErrBadParam,
                "cluster key " + path + ": the file has no hexadecimal digits");
}

bool IsReadable(const std::string& path) {
  return access(path.c_str(), R_OK) == 0;
}

// The agents of a cluster whose nodes come from DNS are called like their
// machines, as a rule, and not like the addresses.
std::string DirectoryOf(const ClusterFile& file, const ClusterNode& node) {
  const bool is_here =
      file.nodes_from == NodesFrom::kDns && IsAddressOfThisMachine(node.host);
  return file.DirectoryOf(is_here ? ClusterNode{HostName(), node.host, 0, 0}
                                  : node);
}

}  // namespace

Result<std::optional<ClusterFile>> FindCluster() {
  using Found = std::optional<ClusterFile>;
  const Result<Config>& config = TheConfig();
  if (!config.ok()) return config.status();
  const std::string path = config->at(kSetting).text;
  if (!IsReadable(path) && !config->is_set(kSetting)) return Found();
  Result<ClusterFile> file = ReadClusterFile(path);
  if (!file.ok()) return file.status();
  if (!IsReadable(file->key_file) && !file->serves_all_users &&
      !config->is_set(kSetting)) {
    return Found();
  }
  return Found(*std::move(file));
}

Result<v1::Context> ContextOfCluster(const ClusterFile& file) {
  const bool through_agent =
      file.serves_all_users && !IsReadable(file.key_file);
  Result<std::string> key =
      through_agent ? std::string() : KeyIn(file.key_file);
  if (!key.ok()) return key.status();
  const auto nodes = MakeNodeSource(file, &getenv)->Nodes();
  if (!nodes.ok()) return nodes.status();
  Result<v1::Context> context = v1::Context();
  context->set_name(file.name);
  context->set_version(1);
  context->set_cluster_key(*std::move(key));
  context->set_security(file.security);
  context->set_tls_ca(file.tls_ca);
  context->set_tls_cert(file.tls_cert);
  context->set_tls_key(file.tls_key);
  context->set_radix(file.radix);
  context->set_host_module(file.host_module);
  context->set_cluster_file(file.path);
  context->set_through_agent(through_agent);
  for (const ClusterNode& node : *nodes) {
    bootstrap::v1::NodeInfo* const member = context->add_members();
    member->set_name(node.name);
    member->set_address(ClusterAddress(node.host, node.port));
    member->set_control_address(ClusterAddress(node.host, node.control_port));
    member->set_runtime_dir(DirectoryOf(file, node));
    member->set_control_socket(member->runtime_dir() + "/control.sock");
    if (access(member->control_socket().c_str(), F_OK) == 0) {
      member->set_machine(HostName() + "/" + BootId());
    }
  }
  return context;
}

}  // namespace canopy::cli
