#include "server/openpmix/readahead.h"

#include <algorithm>

namespace canopy::openpmix {

uint32_t Readahead::OnGet(Rank self, Rank asked) {
  if (asked == next_) {
    window_ = std::min(window_ * 2, kLargestWindow);
  } else if (asked == (self == 0 ? 1 : 0)) {
    window_ = kFirstWindow;
  } else {
    window_ = 0;
  }
  next_ = window_ == 0 ? kRankInvalid : asked + 1 + window_;
  if (asked < self && self < next_) ++next_;
  if (next_ == self) ++next_;
  return window_;
}

}  // namespace canopy::openpmix
