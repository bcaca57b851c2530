#include "common/cluster/cluster_file.h"

#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
#include <system_error>
#include <utility>

#include "common/duration_text.h"
#include "common/name_ranges.h"
#include "common/posix/private_dir.h"
#include "common/string_util.h"
#include "common/toml/toml_file.h"

namespace canopy {
namespace {

constexpr uint32_t kDefaultPort = 7117;
constexpr std::string_view kBatchJobSource = "batch-job";
constexpr std::string_view kDnsSource = "dns:";
constexpr uint32_t kMaxPort = 65535;
constexpr uint32_t kMaxRadix = 65536;
constexpr uint32_t kMaxUserJobs = 1 << 20;
constexpr uint32_t kMaxUserProcs = 1 << 30;
constexpr size_t kMaxName = 64;
constexpr std::string_view kNameCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

// A key of the file: `set` returns what the value has to be, or an empty text
// if it has taken it.
struct Key {
  std::string_view name;
  std::function<std::string(const toml::node&)> set;
};

auto Text(std::string* to) {
  return [to](const toml::node& node) -> std::string {
    const auto* const text = node.as_string();
    if (text == nullptr) return "a text";
    *to = text->get();
    return "";
  };
}

auto OneOf(std::string* to, std::vector<std::string_view> words) {
  return [to, words](const toml::node& node) -> std::string {
    const auto* const text = node.as_string();
    if (text == nullptr || std::ranges::count(words, text->get()) == 0) {
      return "one of " +
             Join(std::vector<std::string>(words.begin(), words.end()), ", ");
    }
    *to = text->get();
    return "";
  };
}

// Reads which users the agents serve.
auto Users(bool* all) {
  return [all](const toml::node& node) -> std::string {
    std::string word;
    const std::string needed = OneOf(&word, {"own", "all"})(node);
    if (needed.empty()) *all = word == "all";
    return needed;
  };
}

auto Texts(std::string* to) {
  return [to](const toml::node& node) -> std::string {
    std::optional<std::string> texts = TomlTexts(node);
    if (!texts) return "a text, or a list of texts";
    *to = *std::move(texts);
    return "";
  };
}

auto Number(uint32_t* to, uint32_t min, uint32_t max) {
  return [=](const toml::node& node) -> std::string {
    const auto* const number = node.as_integer();
    if (number == nullptr || number->get() < min || number->get() > max) {
      return "a number from " + std::to_string(min) + " to " +
             std::to_string(max);
    }
    *to = static_cast<uint32_t>(number->get());
    return "";
  };
}

auto Milliseconds(uint32_t* to) {
  return [to](const toml::node& node) -> std::string {
    const auto* const text = node.as_string();
    const auto duration = ParseDuration(
        text != nullptr     ? text->get()
        : node.is_integer() ? std::to_string(node.as_integer()->get())
                            : std::string());
    if (!duration || duration->count() == 0) {
      return "a number of seconds, or a text such as \"10m\"";
    }
    *to =
        static_cast<uint32_t>(std::min<int64_t>(duration->count(), UINT32_MAX));
    return "";
  };
}

auto Switch(bool* to) {
  return [to](const toml::node& node) -> std::string {
    const auto* const value = node.as_boolean();
    if (value == nullptr) return "true or false";
    *to = value->get();
    return "";
  };
}

auto Table(const toml::table** to) {
  return [to](const toml::node& node) -> std::string {
    *to = node.as_table();
    return *to == nullptr ? "a table" : "";
  };
}

// Values that become nodes when the whole file has been read.
struct Lists {
  std::string nodes;
  std::string tls_names;
  std::string source;  // the value of "nodes-from"
  const toml::table* kubernetes = nullptr;
};

std::vector<Key> KeysOf(ClusterFile* file, Lists* lists) {
  return {
      {"name", Text(&file->name)},
      {"nodes", Texts(&lists->nodes)},
      {"nodes-from", Text(&lists->source)},
      {"port", Number(&file->port, 1, kMaxPort)},
      {"control-port", Number(&file->control_port, 1, kMaxPort)},
      {"key-file", Text(&file->key_file)},
      {"security", OneOf(&file->security, {"tls", "files", "plaintext"})},
      {"tls-ca", Text(&file->tls_ca)},
      {"tls-cert", Text(&file->tls_cert)},
      {"tls-key", Text(&file->tls_key)},
      {"tls-names", Texts(&lists->tls_names)},
      {"radix", Number(&file->radix, 2, kMaxRadix)},
      {"loss-timeout", Milliseconds(&file->loss_timeout_ms)},
      {"restart-grace", Milliseconds(&file->restart_grace_ms)},
      {"orphan-grace", Milliseconds(&file->orphan_grace_ms)},
      {"max-jobs-per-user", Number(&file->max_jobs_per_user, 1, kMaxUserJobs)},
      {"max-procs-per-user",
       Number(&file->max_procs_per_user, 1, kMaxUserProcs)},
      {"host-module", Text(&file->host_module)},
      {"log-level",
       OneOf(&file->log_level, {"trace", "debug", "info", "warn", "error"})},
      {"users", Users(&file->serves_all_users)},
      {"operators", Text(&file->operators)},
      {"directory", Text(&file->directory)},
      {"kubernetes", Table(&lists->kubernetes)}};
}

std::vector<Key> KeysOf(ClusterKubernetes* kubernetes) {
  return {{"pods", Switch(&kubernetes->pods)},
          {"host-proc", Text(&kubernetes->host_proc)},
          {"device-plugins", Text(&kubernetes->device_plugins)},
          {"resource", Text(&kubernetes->resource)},
          {"host-run", Text(&kubernetes->host_run)},
          {"host-files", Text(&kubernetes->host_files)},
          {"start-deadline", Milliseconds(&kubernetes->start_deadline_ms)}};
}

Status ReadKeys(const toml::table& table, const std::string& path,
                const std::vector<Key>& keys) {
  for (const auto& [name, node] : table) {
    const std::string place = TomlPlace(path, name.source());
    const auto key = std::ranges::find(keys, name.str(), &Key::name);
    if (key == keys.end()) {
      std::vector<std::string_view> known;
      for (const Key& one : keys) known.push_back(one.name);
      return UnknownTomlKey(place, name.str(), known);
    }
    const std::string needed = key->set(node);
    if (!needed.empty()) {
      return Status(kErrBadParam, place + ": '" + std::string(name.str()) +
                                      "' needs " + needed);
    }
  }
  return Status();
}

// Reads HOST or HOST:PORT, where an IPv6 address with a port has brackets.
bool ReadHost(std::string_view text, ClusterNode* node) {
  const size_t colon = text.rfind(':');
  const bool bracketed = text.starts_with('[');
  const bool has_port =
      colon != std::string_view::npos &&
      (bracketed ? colon > text.find(']') : text.find(':') == colon);
  if (has_port) {
    const auto port = ParseNumber(text.substr(colon + 1), kMaxPort - 1);
    if (!port || *port == 0) return false;
    node->port = static_cast<uint32_t>(*port);
    node->control_port = node->port + 1;
    text = text.substr(0, colon);
  }
  if (bracketed) {
    if (!text.ends_with(']')) return false;
    text = text.substr(1, text.size() - 2);
  }
  node->host = text;
  return !text.empty();
}

// Appends the nodes of one entry: names with ranges, or NAME=HOST[:PORT].
bool AddNodes(std::string_view entry, ClusterFile* file) {
  std::vector<ClusterNode>* const nodes = &file->nodes;
  ClusterNode node;
  node.port = file->port;
  node.control_port = file->control_port;
  if (const size_t sign = entry.find('='); sign != std::string_view::npos) {
    node.name = entry.substr(0, sign);
    nodes->push_back(node);
    return ReadHost(entry.substr(sign + 1), &nodes->back());
  }
  std::vector<std::string> names;
  if (!ExpandNames(entry, &names)) return false;
  for (std::string& name : names) {
    node.name = node.host = std::move(name);
    nodes->push_back(node);
  }
  return true;
}

Status ReadNodes(const Lists& lists, ClusterFile* file) {
  std::set<std::string_view> seen;
  for (const std::string_view entry : SplitOutsideBrackets(lists.nodes)) {
    if (!AddNodes(entry, file)) {
      return Status(kErrBadParam, file->path + ": '" + std::string(entry) +
                                      "' is neither a list such as n[01-16] "
                                      "nor NAME=HOST:PORT");
    }
  }
  if (file->nodes.size() > kMaxListedNames) {
    return Status(kErrBadParam, file->path + ": there are too many nodes");
  }
  for (const ClusterNode& node : file->nodes) {
    if (!IsClusterNodeName(node.name)) {
      return Status(kErrBadParam,
                    file->path + ": '" + node.name + "' is no name of a node");
    }
    if (!seen.insert(node.name).second) {
      return Status(kErrBadParam,
                    file->path + ": node " + node.name + " is listed twice");
    }
  }
  return Status();
}

// Reads the value of "nodes-from".
Status ReadSource(const Lists& lists, ClusterFile* file) {
  const std::string& source = lists.source;
  if (source.empty()) return Status();
  if (!lists.nodes.empty()) {
    return Status(kErrBadParam, file->path +
                                    ": of the keys 'nodes' and 'nodes-from', "
                                    "only one can be given");
  }
  if (source == kBatchJobSource) {
    file->nodes_from = NodesFrom::kBatchJob;
    return Status();
  }
  file->nodes_from = NodesFrom::kDns;
  if (source.starts_with(kDnsSource)) {
    file->dns_name = source.substr(kDnsSource.size());
  }
  if (!file->dns_name.empty()) return Status();
  return Status(kErrBadParam, file->path +
                                  ": 'nodes-from' needs \"batch-job\" or "
                                  "\"dns:NAME\"");
}

Status Check(const ClusterFile& file) {
  const auto missing = [&file](bool is_missing, const std::string& key) {
    return is_missing ? Status(kErrBadParam,
                               file.path + ": the key '" + key + "' is missing")
                      : Status();
  };
  const bool files = file.security == "files";
  for (const Status& status :
       {missing(file.nodes_from == NodesFrom::kFile && file.nodes.empty(),
                "nodes"),
        missing(file.key_file.empty(), "key-file"),
        missing(files && file.tls_ca.empty(), "tls-ca"),
        missing(files && file.tls_cert.empty(), "tls-cert"),
        missing(files && file.tls_key.empty(), "tls-key")}) {
    if (!status.ok()) return status;
  }
  // An agent gets its number over the network, which needs TLS.
  if (file.nodes_from == NodesFrom::kDns && file.security == "plaintext") {
    return Status(kErrBadParam,
                  file.path +
                      ": with nodes from DNS, 'security' is \"tls\" or "
                      "\"files\"");
  }
  // The calls of users reach other members over the network.
  if (file.serves_all_users && file.security == "plaintext") {
    return Status(kErrBadParam,
                  file.path +
                      ": with 'users = \"all\"', 'security' is \"tls\" or "
                      "\"files\"");
  }
  // The calls of an agent for its pods reach the leader over the network.
  if (file.kubernetes.pods && file.security == "plaintext") {
    return Status(kErrBadParam,
                  file.path +
                      ": with 'pods = true', 'security' is \"tls\" or "
                      "\"files\"");
  }
  if (!file.operators.empty() && !file.serves_all_users) {
    return Status(kErrBadParam,
                  file.path + ": 'operators' needs 'users = \"all\"'");
  }
  if (IsClusterNodeName(file.name)) return Status();
  return Status(kErrBadParam, file.path + ": '" + file.name +
                                  "' is no name for a cluster: use letters, "
                                  "digits, '.', '_' and '-'");
}

// Paths in the file are relative to its directory.
void MakePathsAbsolute(ClusterFile* file) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path base = fs::absolute(file->path, error).parent_path();
  for (std::string* path : {&file->key_file, &file->tls_ca, &file->tls_cert,
                            &file->tls_key, &file->directory}) {
    if (!path->empty()) *path = (base / *path).lexically_normal();
  }
}

// All users look for agents that serve all users in the same directory.
std::string DefaultDirectory(const ClusterFile& file) {
  const bool is_root = file.serves_all_users || geteuid() == 0;
  return is_root ? "/run/canopy" : UserRuntimeDir() + "/" + file.name;
}

}  // namespace

bool IsClusterNodeName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName && name[0] != '.' &&
         name.find_first_not_of(kNameCharacters) == std::string_view::npos;
}

Result<ClusterFile> ReadClusterFile(const std::string& path) {
  const Result<toml::table> table = ReadToml(path);
  if (!table.ok()) return table.status();
  ClusterFile file;
  Lists lists;
  file.path = path;
  file.port = kDefaultPort;
  Status status = ReadKeys(*table, path, KeysOf(&file, &lists));
  if (file.control_port == 0) file.control_port = file.port + 1;
  if (status.ok() && lists.kubernetes != nullptr) {
    status = ReadKeys(*lists.kubernetes, path, KeysOf(&file.kubernetes));
  }
  if (status.ok()) status = ReadSource(lists, &file);
  if (status.ok() && !lists.nodes.empty()) status = ReadNodes(lists, &file);
  if (status.ok()) status = Check(file);
  if (!status.ok()) return status;
  for (const std::string_view name : SplitOutsideBrackets(lists.tls_names)) {
    if (!name.empty()) file.tls_names.emplace_back(name);
  }
  MakePathsAbsolute(&file);
  if (file.directory.empty()) file.directory = DefaultDirectory(file);
  return file;
}

std::optional<uint32_t> FindClusterNode(const ClusterFile& file,
                                        std::string_view name) {
  const auto& nodes = file.nodes;
  const auto whole = std::ranges::find(nodes, name, &ClusterNode::name);
  if (whole != nodes.end()) {
    return static_cast<uint32_t>(whole - nodes.begin());
  }
  const auto before_dot = [](std::string_view text) {
    return text.substr(0, text.find('.'));
  };
  std::optional<uint32_t> found;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    if (before_dot(nodes[i].name) != before_dot(name)) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

std::string ClusterAddress(const std::string& host, uint32_t port) {
  const bool has_colon = host.find(':') != std::string::npos;
  return (has_colon ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace canopy
