#include "common/cluster/node_source.h"

#include <cstdlib>
#include <optional>
#include <set>
#include <utility>

#include "common/allocation/allocation.h"
#include "common/cluster/dns_nodes.h"

namespace canopy {
namespace {

using Environment = std::function<char*(const char*)>;

class ListedNodes : public NodeSource {
 public:
  explicit ListedNodes(std::vector<ClusterNode> nodes)
      : nodes_(std::move(nodes)) {}
  Result<std::vector<ClusterNode>> Nodes() const override { return nodes_; }

 private:
  const std::vector<ClusterNode> nodes_;
};

// The batch system gives the same list to each process of the job.
class BatchJobNodes : public NodeSource {
 public:
  BatchJobNodes(const ClusterFile& file, Environment environment)
      : path_(file.path),
        port_(file.port),
        control_port_(file.control_port),
        environment_(std::move(environment)) {}

  Result<std::vector<ClusterNode>> Nodes() const override {
    const Result<std::optional<Allocation>> job = FindAllocation(environment_);
    if (!job.ok()) return job.status();
    if (!job->has_value()) {
      return Status(kErrNotFound,
                    path_ +
                        ": the nodes are those of a batch job, but the "
                        "environment has no job of Slurm, PBS or Grid Engine");
    }
    return NodesOf(**job);
  }

 private:
  Result<std::vector<ClusterNode>> NodesOf(const Allocation& job) const {
    std::vector<ClusterNode> nodes;
    std::set<std::string> seen;
    for (const Host& host : job.hosts) {
      if (!IsClusterNodeName(host.name) || !seen.insert(host.name).second) {
        return Status(kErrBadParam, path_ + ": " + job.job + " has a node '" +
                                        host.name +
                                        "' that is invalid or listed twice");
      }
      nodes.push_back({host.name, host.name, port_, control_port_});
    }
    return nodes;
  }

  const std::string path_;
  const uint32_t port_;
  const uint32_t control_port_;
  const Environment environment_;
};

// A node is called like its address until its agent has told its name.
class NodesOfName : public NodeSource {
 public:
  explicit NodesOfName(const ClusterFile& file)
      : name_(file.dns_name),
        port_(file.port),
        control_port_(file.control_port) {}

  Result<std::vector<ClusterNode>> Nodes() const override {
    const Result<std::vector<std::string>> addresses = AddressesOf(name_);
    if (!addresses.ok()) return addresses.status();
    std::vector<ClusterNode> nodes;
    for (const std::string& address : *addresses) {
      nodes.push_back({address, address, port_, control_port_});
    }
    return nodes;
  }

 private:
  const std::string name_;
  const uint32_t port_;
  const uint32_t control_port_;
};

}  // namespace

std::unique_ptr<NodeSource> MakeNodeSource(const ClusterFile& file,
                                           const Environment& environment) {
  switch (file.nodes_from) {
    case NodesFrom::kBatchJob:
      return std::make_unique<BatchJobNodes>(file, environment);
    case NodesFrom::kDns:
      return std::make_unique<NodesOfName>(file);
    default:
      return std::make_unique<ListedNodes>(file.nodes);
  }
}

Result<ClusterFile> WithNodes(ClusterFile file) {
  Result<std::vector<ClusterNode>> nodes =
      MakeNodeSource(file, &getenv)->Nodes();
  if (!nodes.ok()) return nodes.status();
  file.nodes = *std::move(nodes);
  return file;
}

}  // namespace canopy
