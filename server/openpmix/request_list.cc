#include "server/openpmix/request_list.h"

namespace canopy::openpmix {

void RequestList::Add(const Request& request) {
  all_.push_back({request});
  ++unanswered_;
}

void RequestList::AddFirst(std::vector<Request> requests) {
  const std::vector<Request> others = InOrder();
  *this = RequestList();
  for (const Request& request : requests) Add(request);
  for (const Request& request : others) Add(request);
}

std::optional<RequestList::Request> RequestList::Take(uint32_t tag) {
  while (first_ < all_.size() && all_[first_].answered) ++first_;
  if (first_ < all_.size() && all_[first_].request.tag == tag) {
    return TakeAt(first_);
  }
  Index();
  auto it = by_tag_.lower_bound({tag, 0});
  while (it != by_tag_.end() && it->first == tag) {
    const size_t index = it->second;
    it = by_tag_.erase(it);
    if (!all_[index].answered) return TakeAt(index);
  }
  return std::nullopt;
}

RequestList::Request RequestList::TakeAt(size_t index) {
  all_[index].answered = true;
  --unanswered_;
  return all_[index].request;
}

void RequestList::Index() {
  for (; indexed_ < all_.size(); ++indexed_) {
    const Entry& entry = all_[indexed_];
    if (!entry.answered) by_tag_.insert({entry.request.tag, indexed_});
  }
}

std::vector<RequestList::Request> RequestList::InOrder() const {
  std::vector<Request> out;
  out.reserve(unanswered_);
  for (const Entry& entry : all_) {
    if (!entry.answered) out.push_back(entry.request);
  }
  return out;
}

}  // namespace canopy::openpmix
