#include "tests/sim/observations.h"

namespace canopy::sim {

uint64_t Observations::received(NodeId node, size_t kind) const {
  const auto it = messages_.find({kind, node});
  return it == messages_.end() ? 0 : it->second;
}

uint64_t Observations::messages(size_t kind) const {
  uint64_t sum = 0;
  for (auto it = messages_.lower_bound({kind, 0});
       it != messages_.end() && it->first.first == kind; ++it) {
    sum += it->second;
  }
  return sum;
}

}  // namespace canopy::sim
