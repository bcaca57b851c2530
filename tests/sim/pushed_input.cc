#include "tests/sim/pushed_input.h"

namespace canopy::sim {
namespace {

constexpr char kEnd = ';';

}  // namespace

std::string PushedInput::Push(const ProcId& pusher, uint64_t size) {
  const uint64_t number = ++made_[pusher];
  std::string bytes = ToString(pusher) + "#" + std::to_string(number) +
                      std::string(size, '.') + kEnd;
  pushes_[bytes] = {pusher, number};
  return bytes;
}

uint64_t PushedInput::count(const ProcId& pusher) const {
  const auto known = made_.find(pusher);
  return known == made_.end() ? 0 : known->second;
}

std::vector<std::string> PushedInput::Check(Rank rank, bool ended) const {
  std::vector<std::string> errors;
  const std::string who = "rank " + std::to_string(rank);
  const auto known = read_.find(rank);
  std::string_view left;
  if (known != read_.end()) left = known->second;
  std::map<ProcId, uint64_t> last;
  while (!left.empty()) {
    const size_t end = left.find(kEnd);
    if (end == std::string_view::npos) {
      if (ended) errors.push_back(who + " has a part of a push");
      break;
    }
    const std::string push(left.substr(0, end + 1));
    left.remove_prefix(end + 1);
    const auto place = pushes_.find(push);
    if (place == pushes_.end()) {
      errors.push_back(who + " has read what nobody has pushed: " + push);
      continue;
    }
    const auto& [pusher, number] = place->second;
    uint64_t& before = last[pusher];
    while (refused_.contains({pusher, before + 1})) ++before;
    if (number > before + 1) {
      errors.push_back(who + " misses what is before " + push);
    } else if (number <= before && !repeats_) {
      errors.push_back(who + " has read twice or late " + push);
    }
    before = std::max(before, number);
  }
  for (const auto& [pusher, count] : taken_) {
    uint64_t& before = last[pusher];
    while (refused_.contains({pusher, before + 1})) ++before;
    if (before < count) {
      errors.push_back(who + " has not taken push " + std::to_string(count) +
                       " of " + ToString(pusher));
    }
  }
  return errors;
}

}  // namespace canopy::sim
