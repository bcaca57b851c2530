// Which agent is the owner of a published key: by rendezvous hashing (highest
// random weight), so that every agent computes the same and the loss of one
// moves its keys alone.
#ifndef CANOPY_SERVER_CORE_PUBLISH_RENDEZVOUS_H_
#define CANOPY_SERVER_CORE_PUBLISH_RENDEZVOUS_H_

#include <string_view>

#include "common/ids.h"
#include "server/core/tree.h"

namespace canopy::core {

struct KeyHomes {
  NodeId owner = kNoNode;
  NodeId second = kNoNode;  // the owner, should that be lost; kNoNode: none
};

// Among the living members. Agents of all releases compute the same.
KeyHomes HomesOf(std::string_view key, const Tree& tree);

// Whether it is the owner that HomesOf finds. For a node that is not, a few
// members are looked at, not all.
bool IsOwner(NodeId node, std::string_view key, const Tree& tree);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_PUBLISH_RENDEZVOUS_H_
