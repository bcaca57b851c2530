// The start of an agent that no launcher configures: `canopyd --cluster`.
#ifndef CANOPY_SERVER_AGENT_CLUSTER_SERVICE_H_
#define CANOPY_SERVER_AGENT_CLUSTER_SERVICE_H_

#include <optional>
#include <string>

#include "common/status.h"
#include "server/agent/membership/cluster_start.h"

namespace canopy::agent {

// Returns the start of the agent of the node `name`, or of the node with the
// name of this machine, in the cluster of the file `path`. If the nodes come
// from DNS, this call searches for the agent's place (ClusterSearch) until it
// finds one, SIGHUP ends a pause, and SIGTERM or SIGINT ends the search, which
// then returns no value. Called before the process has threads. Otherwise fails
// like ReadClusterFile, WithNodes and StartInCluster, and returns kErrNotFound
// if the list does not have the node.
Result<std::optional<ClusterStart>> FindClusterStart(const std::string& path,
                                                     const std::string& name);

// Checks the file `path`, and the key and certificates that it names, for the
// agent of the node `name`, or of the node with the name of this machine.
// Returns a line about the file, or the error with which the agent would not
// start. Starts nothing, and asks no DNS server.
Result<std::string> CheckClusterFile(const std::string& path,
                                     const std::string& name);

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_CLUSTER_SERVICE_H_
