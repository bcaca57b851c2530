// The names of nodes: PMIx_Resolve_peers and PMIx_Resolve_nodes.
#ifndef CANOPY_SERVER_OPENPMIX_NODE_NAMES_H_
#define CANOPY_SERVER_OPENPMIX_NODE_NAMES_H_

#include <string>
#include <string_view>
#include <vector>

#include "common/job.h"

namespace canopy::openpmix {

// True when the node has that name or alias.
bool IsNamed(const JobNode& node, std::string_view name);

// The names of the nodes of these jobs, each once and where it comes first,
// joined by commas. Linear in the number of nodes.
std::string NodeNames(const std::vector<const JobSpec*>& jobs);

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_NODE_NAMES_H_
