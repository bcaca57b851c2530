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
  uint32_t id = 0;             // PMIX_NODEID; differs from every other's
  std::vector<size_t> drafts;  // what is said of it: indices of Draft::nodes
};

struct Placement {
  std::vector<PlacedNode> nodes;
  std::vector<uint32_t> node_of;  // index: rank
  uint32_t self = kNoNode;
  // What the server and its host call this node; never empty.
  std::vector<std::string> self_names;
  std::optional<uint32_t> self_id;
  std::vector<size_t> unused;  // drafts of nodes without processes
};

// Gives each node its number, when all else is placed, and sorts in the drafts
// that name a node by number alone. A node's array is believed, then what the
// server knows of itself, then what a node's processes say when that is of no
// other node; what is left counts by index. False with a *problem: two arrays
// contradict each other.
bool NumberNodes(const Draft& draft, Placement* placement, Problem* problem);

}  // namespace canopy::registration

#endif  // CANOPY_SERVER_REGISTRATION_NODE_NUMBERS_H_
