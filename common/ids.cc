#include "common/ids.h"

namespace canopy {
namespace {

std::string RankName(Rank rank) {
  switch (rank) {
    case kRankUndef:
      return "undef";
    case kRankWildcard:
      return "*";
    case kRankLocalNode:
      return "local-node";
    case kRankInvalid:
      return "invalid";
    case kRankLocalPeers:
      return "local-peers";
    default:
      return std::to_string(rank);
  }
}

}  // namespace

std::string ToString(const ProcId& proc) {
  return proc.nspace + ":" + RankName(proc.rank);
}

}  // namespace canopy
