// Computes the owner of a published key by rendezvous hashing (highest random
// weight). All agents compute the same owner, and the loss of an agent moves
// only its own keys.
#ifndef CANOPY_SERVER_CORE_PUBLISH_RENDEZVOUS_H_
#define CANOPY_SERVER_CORE_PUBLISH_RENDEZVOUS_H_

#include <string_view>

#include "common/ids.h"
#include "server/core/tree.h"

namespace canopy::core {

struct KeyHomes {
  NodeId owner = kNoNode;
  NodeId second = kNoNode;  // the owner if `owner` is lost; kNoNode: none
};

// Returns the owner of the key and its second home among the living members.
// Agents of all releases must compute the same result.
KeyHomes HomesOf(std::string_view key, const Tree& tree);

// Returns true if HomesOf would return `node` as owner. It costs less than
// HomesOf: for most nodes, a few comparisons suffice for the answer false.
bool IsOwner(NodeId node, std::string_view key, const Tree& tree);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_PUBLISH_RENDEZVOUS_H_
