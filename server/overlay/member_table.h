// This agent's view of each member. The views of all agents converge when they
// exchange states and records, in any order and any number of times.
#ifndef CANOPY_SERVER_OVERLAY_MEMBER_TABLE_H_
#define CANOPY_SERVER_OVERLAY_MEMBER_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "server/overlay/frame.h"

namespace canopy::overlay {

// Pure state; loop thread only.
class MemberTable {
 public:
  explicit MemberTable(uint32_t size) : states_(size) {}

  uint32_t size() const { return static_cast<uint32_t>(states_.size()); }
  // Returns true if the member's state is known, not only assumed.
  bool Known(NodeId node) const { return states_[node].known; }
  // Return true if the member is known to be up, or known to be down.
  bool Up(NodeId node) const { return Known(node) && states_[node].state.up; }
  bool Down(NodeId node) const {
    return Known(node) && !states_[node].state.up;
  }
  // Returns true if the member is up and its parent in the tree waits for its
  // link.
  bool Absent(NodeId node) const {
    return Up(node) && states_[node].state.absences % 2 == 1;
  }
  // Returns 0 if the member has never been up.
  uint64_t Incarnation(NodeId node) const {
    return states_[node].state.incarnation;
  }
  const MemberState& State(NodeId node) const { return states_[node].state; }
  uint32_t up_count() const { return up_count_; }
  // Returns null if the root has not decided about the member. Valid until the
  // next change of the table.
  const MemberRecord* Record(NodeId node) const {
    const std::optional<MemberRecord>& record = states_[node].record;
    return record ? &*record : nullptr;
  }
  bool Removed(NodeId node) const {
    const MemberRecord* const record = Record(node);
    return record != nullptr && record->service == Service::kRemoved;
  }
  // Returns the number of members that were not removed.
  uint32_t num_kept() const { return size() - num_removed_; }

  // Adopts a state if it is newer than the known one. A description is adopted
  // also from an older state of the same incarnation, and kept for newer ones.
  // Returns false if nothing is adopted or the number is not that of a member.
  bool Merge(const MemberState& state);

  // Adopts a record if it is newer than the known one. The record of the next
  // number adds a member, whose state is unknown. Returns false for a record
  // that is not newer, and for any greater number.
  bool MergeRecord(const MemberRecord& record);

  void SetAddress(NodeId node, const std::string& address) {
    states_[node].state.address = address;
  }
  void SetDescription(NodeId node, const std::string& description) {
    states_[node].state.description = description;
  }

  // Forgets all states, but no record.
  void Clear();

 private:
  struct Entry {
    bool known = false;
    MemberState state;
    std::optional<MemberRecord> record;
  };

  std::vector<Entry> states_;
  uint32_t up_count_ = 0;
  uint32_t num_removed_ = 0;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_MEMBER_TABLE_H_
