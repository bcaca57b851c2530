// The nodes of a registration and their numbers.
#ifndef CANOPY_SERVER_REGISTRATION_NODE_NUMBERS_H_
#define CANOPY_SERVER_REGISTRATION_NODE_NUMBERS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "server/registration/draft.h"
#include "server/registration/problem.h"

namespace canopy::registration {

struct PlacedNode {
  std::string name;
  uint32_t id = 0;             // PMIX_NODEID, unique
  std::vector<size_t> drafts;  // indices in Draft::nodes of its descriptions
};

struct Placement {
  std::vector<PlacedNode> nodes;
  std::vector<uint32_t> node_of;  // index: rank
  uint32_t self = kNoNode;
  // The names of this node for the server and its host; never empty.
  std::vector<std::string> self_names;
  std::optional<uint32_t> self_id;
  std::vector<size_t> unused;  // drafts of nodes without processes
};

// Called after all other placement. Assigns each node its number, and assigns
// each draft that contains only a number to the node with that number. The
// sources, in order of precedence: the node's array, the server's own number,
// and the numbers of the node's processes if no other node has them; remaining
// nodes are numbered by index. Returns false and sets *problem if two arrays
// contradict each other.
bool NumberNodes(const Draft& draft, Placement* placement, Problem* problem);

}  // namespace canopy::registration

#endif  // CANOPY_SERVER_REGISTRATION_NODE_NUMBERS_H_
