// The sources of the list of a cluster's nodes.
#ifndef CANOPY_COMMON_CLUSTER_NODE_SOURCE_H_
#define CANOPY_COMMON_CLUSTER_NODE_SOURCE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/cluster/cluster_file.h"
#include "common/status.h"

namespace canopy {

// One source, as a cluster file names it.
class NodeSource {
 public:
  virtual ~NodeSource() = default;
  // Returns the nodes that the source lists now. The list may be empty. May
  // block, for example until a DNS server answers.
  virtual Result<std::vector<ClusterNode>> Nodes() const = 0;
};

// Returns the source of the file's nodes. `environment` is getenv or a
// replacement.
std::unique_ptr<NodeSource> MakeNodeSource(
    const ClusterFile& file,
    const std::function<char*(const char*)>& environment);

// Returns the file with the nodes that its source lists now. Returns
// kErrNotFound if the process is not a part of a batch job although the nodes
// are those of the job; otherwise fails like FindAllocation and AddressesOf.
Result<ClusterFile> WithNodes(ClusterFile file);

}  // namespace canopy

#endif  // CANOPY_COMMON_CLUSTER_NODE_SOURCE_H_
