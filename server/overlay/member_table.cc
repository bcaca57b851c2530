#include "server/overlay/member_table.h"

#include <algorithm>

#include "server/overlay/compatibility.h"

namespace canopy::overlay {
namespace {

// For one incarnation, down is final.
bool Newer(const MemberState& a, const MemberState& b) {
  if (a.incarnation != b.incarnation) return a.incarnation > b.incarnation;
  return b.up && !a.up;
}

}  // namespace

bool MemberTable::Merge(const MemberState& state) {
  if (state.node >= states_.size()) return false;
  if (state.up && state.incarnation == 0) return false;
  Entry& entry = states_[state.node];
  if (entry.known && !Newer(state, entry.state)) return false;
  up_count_ -= Up(state.node) ? 1 : 0;
  entry.known = true;
  entry.state = state;
  up_count_ += state.up ? 1 : 0;
  return true;
}

uint32_t MemberTable::Version(NodeId node) const {
  return std::max(states_[node].state.version, kOldestVersion);
}

bool MemberTable::KnowsVersion(NodeId node) const {
  return states_[node].state.version != 0;
}

bool MemberTable::LearnVersion(const MemberState& state) {
  if (state.node >= states_.size() || state.version == 0) return false;
  MemberState& known = states_[state.node].state;
  if (!Up(state.node) || known.incarnation != state.incarnation ||
      known.version != 0) {
    return false;
  }
  known.version = state.version;
  return true;
}

void MemberTable::Clear() {
  states_.assign(states_.size(), Entry());
  up_count_ = 0;
}

}  // namespace canopy::overlay
