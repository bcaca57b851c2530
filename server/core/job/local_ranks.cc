#include "server/core/job/local_ranks.h"

#include <algorithm>
#include <iterator>

namespace canopy::core {

std::vector<Rank> LocalRanks::Of(const std::vector<Rank>& ranks) const {
  if (ranks.empty()) return all();
  std::vector<Rank> out;
  std::ranges::copy_if(ranks, std::back_inserter(out),
                       [this](Rank rank) { return Has(rank); });
  return out;
}

}  // namespace canopy::core
