#include "server/core/publish/rendezvous.h"

#include <cstdint>

#include "server/core/publish/digest.h"

namespace canopy::core {
namespace {

uint64_t WeightOf(uint64_t hash, NodeId node) {
  return Mix(hash + (node + 1) * 0x9e3779b97f4a7c15);
}

}  // namespace

KeyHomes HomesOf(std::string_view key, const Tree& tree) {
  const uint64_t hash = HashOf(key);
  KeyHomes homes;
  uint64_t first = 0;
  uint64_t second = 0;
  for (NodeId node = 0; node < tree.size(); ++node) {
    if (!tree.alive(node)) continue;
    const uint64_t weight = WeightOf(hash, node);
    if (homes.owner == kNoNode || weight > first) {
      homes.second = homes.owner;
      second = first;
      homes.owner = node;
      first = weight;
    } else if (homes.second == kNoNode || weight > second) {
      homes.second = node;
      second = weight;
    }
  }
  return homes;
}

bool IsOwner(NodeId node, std::string_view key, const Tree& tree) {
  if (!tree.alive(node)) return false;
  const uint64_t hash = HashOf(key);
  const uint64_t own = WeightOf(hash, node);
  for (NodeId other = 0; other < tree.size(); ++other) {
    if (other == node || !tree.alive(other)) continue;
    const uint64_t weight = WeightOf(hash, other);
    if (weight > own || (weight == own && other < node)) return false;
  }
  return true;
}

}  // namespace canopy::core
