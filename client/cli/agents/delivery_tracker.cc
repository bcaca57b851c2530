#include "client/cli/agents/delivery_tracker.h"

#include <algorithm>

namespace canopy::cli {

void DeliveryTracker::AddBelow(const control::v1::StatusReply& status,
                               int top) {
  const auto size =
      std::min(delivered_.size(), static_cast<size_t>(status.nodes_size()));
  std::vector<bool> below(delivered_.size());
  below[static_cast<size_t>(top)] = true;
  for (size_t i = 0; i < size; ++i) {
    const control::v1::NodeStatus& node = status.nodes(static_cast<int>(i));
    const int64_t parent = node.parent();
    if (!node.up() || parent < 0 || parent >= static_cast<int64_t>(i)) continue;
    parent_[i] = parent;
    // It remains unknown whether the members below a parent that does not
    // answer receive the command.
    if (below[static_cast<size_t>(parent)] && !node.away()) {
      below[i] = delivered_[i] = true;
    }
  }
}

bool DeliveryTracker::MayHave(int member) const {
  const int64_t parent = parent_[static_cast<size_t>(member)];
  return parent >= 0 && delivered_[static_cast<size_t>(parent)];
}

}  // namespace canopy::cli
