// The names of nodes: PMIx_Resolve_peers and PMIx_Resolve_nodes.
#ifndef CANOPY_SERVER_OPENPMIX_NODE_NAMES_H_
#define CANOPY_SERVER_OPENPMIX_NODE_NAMES_H_

#include <string>
#include <string_view>
#include <vector>

#include "common/job.h"

namespace canopy::openpmix {

// Returns true if the node has that name or alias.
bool IsNamed(const JobNode& node, std::string_view name);

// Returns the names of the nodes of these jobs, joined by commas, each at its
// first occurrence. Takes time linear in the number of nodes.
std::string NodeNames(const std::vector<const JobSpec*>& jobs);

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_NODE_NAMES_H_
