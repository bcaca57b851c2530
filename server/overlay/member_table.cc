#include "server/overlay/member_table.h"

#include <string>
#include <tuple>
#include <utility>

namespace canopy::overlay {
namespace {

// Returns true if state `a` is newer than `b`. An incarnation that is down
// never comes up again.
bool Newer(const MemberState& a, const MemberState& b) {
  if (a.incarnation != b.incarnation) return a.incarnation > b.incarnation;
  if (!a.up || !b.up) return b.up && !a.up;
  return a.absences > b.absences;
}

// Returns true if state `a` has the description that `b` lacks.
bool Describes(const MemberState& a, const MemberState& b) {
  return a.incarnation == b.incarnation && a.up && b.up &&
         b.description.empty() && !a.description.empty();
}

// Returns true if record `a` is newer than `b`. A removal is final. Two roots
// may have made the same version on the sides of a partition, so the other
// fields decide in this case.
bool Newer(const MemberRecord& a, const MemberRecord& b) {
  const auto rank = [](const MemberRecord& r) {
    return std::tie(r.version, r.service, r.since_ms, r.name, r.description,
                    r.reason);
  };
  const bool a_removed = a.service == Service::kRemoved;
  const bool b_removed = b.service == Service::kRemoved;
  return a_removed == b_removed ? rank(a) > rank(b) : a_removed;
}

}  // namespace

bool MemberTable::Merge(const MemberState& state) {
  if (state.node >= states_.size()) return false;
  if (state.up && state.incarnation == 0) return false;
  Entry& entry = states_[state.node];
  if (entry.known && !Newer(state, entry.state)) {
    if (!Describes(state, entry.state)) return false;
    entry.state.description = state.description;
    return true;
  }
  std::string description = state.description;
  if (Describes(entry.state, state)) description = entry.state.description;
  up_count_ -= Up(state.node) ? 1 : 0;
  entry.known = true;
  entry.state = state;
  entry.state.description = std::move(description);
  up_count_ += state.up ? 1 : 0;
  return true;
}

bool MemberTable::MergeRecord(const MemberRecord& record) {
  if (record.version == 0 || record.node >= kMaxMembers) return false;
  if (record.node > states_.size()) return false;
  if (record.node == states_.size()) states_.emplace_back();
  std::optional<MemberRecord>& known = states_[record.node].record;
  if (known && !Newer(record, *known)) return false;
  num_removed_ -= Removed(record.node) ? 1 : 0;
  known = record;
  num_removed_ += Removed(record.node) ? 1 : 0;
  return true;
}

void MemberTable::Clear() {
  for (Entry& entry : states_) {
    entry.known = false;
    entry.state = MemberState();
  }
  up_count_ = 0;
}

}  // namespace canopy::overlay
