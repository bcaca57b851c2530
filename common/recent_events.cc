#include "common/recent_events.h"

namespace canopy {

bool RecentEvents::Note(const EventId& id) {
  if (!ids_.insert(id).second) return false;
  order_.push_back(id);
  if (order_.size() > limit_) {
    ids_.erase(order_.front());
    order_.pop_front();
  }
  return true;
}

}  // namespace canopy
