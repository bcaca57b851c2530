#include "common/recent_events.h"

namespace canopy {

bool RecentEvents::Knows(const EventId& id) const {
  const auto raiser = raisers_.find(id.raiser);
  return raiser != raisers_.end() && raiser->second.Contains(id.number);
}

bool RecentEvents::Note(const EventId& id) {
  const auto raiser = raisers_.try_emplace(id.raiser).first;
  if (!raiser->second.Insert(id.number)) return false;
  order_.push_back({raiser, id.number});
  if (order_.size() > limit_) ForgetOldest();
  return true;
}

void RecentEvents::ForgetOldest() {
  const auto [raiser, number] = order_.front();
  order_.pop_front();
  raiser->second.Erase(number);
  if (raiser->second.empty()) raisers_.erase(raiser);
}

}  // namespace canopy
