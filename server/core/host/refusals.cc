#include "server/core/host/refusals.h"

#include "common/status.h"

namespace canopy::core {

void Refusals::Add(TimeNs now, const HostRequest& request, int status) {
  const Key key = KeyOf(request);
  const auto [it, added] = refusals_.try_emplace(key);
  it->second = {status, now + kRefusalKept};
  if (!added) return;
  order_.push_back(key);
  if (order_.size() <= kRefusalsKept) return;
  refusals_.erase(order_.front());
  order_.pop_front();
}

int Refusals::StatusOf(TimeNs now, const HostRequest& request) const {
  const auto known = refusals_.find(KeyOf(request));
  const bool counts = known != refusals_.end() && now < known->second.until;
  return counts ? known->second.status : kSuccess;
}

}  // namespace canopy::core
