#include "common/number_runs.h"

#include <algorithm>

namespace canopy {

NumberRuns::Runs::const_iterator NumberRuns::Find(uint64_t number) const {
  return std::lower_bound(
      runs_.begin(), runs_.end(), number,
      [](const Run& run, uint64_t value) { return run.last < value; });
}

bool NumberRuns::Contains(uint64_t number) const {
  const auto it = Find(number);
  return it != runs_.end() && it->first <= number;
}

uint64_t NumberRuns::Above(uint64_t number) const {
  const auto it = Find(number);
  return it == runs_.end() ? UINT64_MAX : it->first;
}

void NumberRuns::Insert(uint64_t first, uint64_t last) {
  const auto at = runs_.begin() + (Find(first) - runs_.cbegin());
  const bool follows = at != runs_.begin() && std::prev(at)->last + 1 == first;
  const bool precedes = at != runs_.end() && at->first == last + 1;
  if (follows && precedes) {
    std::prev(at)->last = at->last;
    runs_.erase(at);
  } else if (follows) {
    std::prev(at)->last = last;
  } else if (precedes) {
    at->first = first;
  } else {
    runs_.insert(at, {first, last});
  }
}

void NumberRuns::Erase(uint64_t number) {
  const auto at = runs_.begin() + (Find(number) - runs_.cbegin());
  if (at == runs_.end() || at->first > number) return;
  if (at->first == at->last) {
    runs_.erase(at);
  } else if (at->first == number) {
    ++at->first;
  } else if (at->last == number) {
    --at->last;
  } else {
    const Run before{at->first, number - 1};
    at->first = number + 1;
    runs_.insert(at, before);
  }
}

}  // namespace canopy
