// The context of a cluster whose agents find each other from a file: users'
// commands find the agents from the same file, and no context is stored.
#ifndef CANOPY_CLIENT_CLI_CONTEXT_CLUSTER_CONTEXT_H_
#define CANOPY_CLIENT_CLI_CONTEXT_CLUSTER_CONTEXT_H_

#include <optional>
#include <string>

#include "client/cli/context/context.pb.h"
#include "common/cluster/cluster_file.h"
#include "common/status.h"

namespace canopy::cli {

// Reads the file of the setting "cluster-file". Returns no value if the setting
// is the default and there is no such file, or if this user cannot read the
// cluster key. Fails like ReadClusterFile.
Result<std::optional<ClusterFile>> FindCluster();

// Returns the context of a cluster, without an overlay id, which commands do
// not need. Returns kErrNotFound, kErrNoPermissions or kErrBadParam if the key
// cannot be read.
Result<v1::Context> ContextOfCluster(const ClusterFile& file);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTEXT_CLUSTER_CONTEXT_H_
