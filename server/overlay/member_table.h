// This agent's view of each member. The views of all agents converge when they
// exchange states, in any order and any number of times.
#ifndef CANOPY_SERVER_OVERLAY_MEMBER_TABLE_H_
#define CANOPY_SERVER_OVERLAY_MEMBER_TABLE_H_

#include <cstdint>
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

  // Adopts a state if it is newer than the known one. Returns false if it is
  // not newer or its number is not that of a member.
  bool Merge(const MemberState& state);

  void SetAddress(NodeId node, const std::string& address) {
    states_[node].state.address = address;
  }

  // Forgets everything.
  void Clear();

 private:
  struct Entry {
    bool known = false;
    MemberState state;
  };

  std::vector<Entry> states_;
  uint32_t up_count_ = 0;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_MEMBER_TABLE_H_
