#include "common/recent_events.h"

#include <string>
#include <utility>

namespace canopy {

bool RecentEvents::Knows(const EventId& id) const {
  const auto raiser = raisers_.find(id.raiser);
  return raiser != raisers_.end() &&
         (raiser->second.Contains(id.number) || IsOfLatest(raiser, id.number));
}

bool RecentEvents::IsOfLatest(Raisers::const_iterator raiser,
                              uint64_t number) const {
  return latest_.has_value() && latest_->raiser == raiser &&
         latest_->first <= number && number <= latest_->last;
}

bool RecentEvents::Note(const ProcView& raiser, uint64_t number) {
  if (Follows(raiser, number)) {
    latest_->last = number;
  } else if (!Begin(raiser, number)) {
    return false;
  }
  if (++known_ > limit_) ForgetOldest();
  return true;
}

bool RecentEvents::Follows(const ProcView& raiser, uint64_t number) const {
  return latest_.has_value() && number != 0 && number - 1 == latest_->last &&
         number < latest_end_ && ViewOf(latest_->raiser->first) == raiser;
}

bool RecentEvents::Begin(const ProcView& raiser, uint64_t number) {
  auto it = raisers_.find(raiser);
  if (it == raisers_.end()) {
    it = raisers_.try_emplace({std::string(raiser.nspace), raiser.rank}).first;
  } else if (it->second.Contains(number) || IsOfLatest(it, number)) {
    return false;
  }
  SettleLatest();
  latest_ = {it, number, number};
  latest_end_ = it->second.Above(number);
  return true;
}

void RecentEvents::SettleLatest() {
  if (!latest_.has_value()) return;
  latest_->raiser->second.Insert(latest_->first, latest_->last);
  order_.push_back(*latest_);
}

void RecentEvents::ForgetOldest() {
  --known_;
  if (order_.empty()) {
    ++latest_->first;
    return;
  }
  Noted& oldest = order_.front();
  const auto raiser = oldest.raiser;
  raiser->second.Erase(oldest.first);
  if (oldest.first++ == oldest.last) order_.pop_front();
  if (raiser->second.empty() && raiser != latest_->raiser) {
    raisers_.erase(raiser);
  }
}

}  // namespace canopy
