#include "server/core/publish/rendezvous.h"

#include <cstdint>

namespace canopy::core {
namespace {

// FNV-1a.
uint64_t HashOf(std::string_view key) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : key) {
    hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  }
  return hash;
}

// The finaliser of SplitMix64, which spreads close numbers.
uint64_t Mix(uint64_t v) {
  v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9;
  v = (v ^ (v >> 27)) * 0x94d049bb133111eb;
  return v ^ (v >> 31);
}

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
