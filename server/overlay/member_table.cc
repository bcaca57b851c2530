#include "server/overlay/member_table.h"

#include <algorithm>

namespace canopy::overlay {
namespace {

// Returns true if state `a` is newer than `b`. An incarnation that is down
// never comes up again.
bool Newer(const MemberState& a, const MemberState& b) {
  if (a.incarnation != b.incarnation) return a.incarnation > b.incarnation;
  if (!a.up || !b.up) return b.up && !a.up;
  return a.absences > b.absences;
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

void MemberTable::Clear() {
  states_.assign(states_.size(), Entry());
  up_count_ = 0;
}

}  // namespace canopy::overlay
