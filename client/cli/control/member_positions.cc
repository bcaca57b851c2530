#include "client/cli/control/member_positions.h"

#include "common/hosts.h"

namespace canopy::cli {

MemberPositions::MemberPositions(const v1::Context& context) {
  for (int i = 0; i < context.members_size(); ++i) {
    positions_[context.members(i).name()] = i;
  }
}

std::optional<int> MemberPositions::Of(
    const control::v1::NodeStatus& node) const {
  auto known = positions_.find(node.name());
  if (known == positions_.end()) {
    known = positions_.find(HostOfAddress(node.address()));
  }
  if (known == positions_.end()) return std::nullopt;
  return known->second;
}

}  // namespace canopy::cli
