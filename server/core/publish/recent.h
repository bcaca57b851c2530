// What happened not long ago.
#ifndef CANOPY_SERVER_CORE_PUBLISH_RECENT_H_
#define CANOPY_SERVER_CORE_PUBLISH_RECENT_H_

#include <cstddef>
#include <deque>
#include <set>

namespace canopy::core {

// The last 4096 that were added.
template <typename T>
class Recent {
 public:
  void Add(const T& t) {
    if (!all_.insert(t).second) return;
    order_.push_back(t);
    if (order_.size() <= kMaxRecent) return;
    all_.erase(order_.front());
    order_.pop_front();
  }
  bool Contains(const T& t) const { return all_.contains(t); }

 private:
  static constexpr size_t kMaxRecent = 4096;

  std::set<T> all_;
  std::deque<T> order_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_PUBLISH_RECENT_H_
