// Tracks which members of an overlay receive a command that was sent to some of
// them.
#ifndef CANOPY_CLIENT_CLI_AGENTS_DELIVERY_TRACKER_H_
#define CANOPY_CLIENT_CLI_AGENTS_DELIVERY_TRACKER_H_

#include <cstdint>
#include <vector>

#include "protos/control.pb.h"

namespace canopy::cli {

// An agent that receives the command forwards it to its subtree. Members are
// identified by their positions in a list in which a parent precedes its
// children.
class DeliveryTracker {
 public:
  explicit DeliveryTracker(int members)
      : delivered_(static_cast<size_t>(members)),
        parent_(delivered_.size(), -1) {}

  // Records that the command was sent to this member.
  void Add(int member) { delivered_[static_cast<size_t>(member)] = true; }
  // Records that `top`, which received the command, forwards it to its subtree.
  // `status` is the recent reply of `top` to a status request with `ask_all`,
  // which contains the tree, with positions in the list in place of the
  // members' numbers.
  void AddBelow(const control::v1::StatusReply& status, int top);

  // Returns true if the member received the command, either directly or from
  // its parent.
  bool Has(int member) const { return delivered_[static_cast<size_t>(member)]; }
  // Returns true if the member's parent received the command. The member itself
  // may not have received it, because it may have no link to its parent.
  bool MayHave(int member) const;

 private:
  std::vector<bool> delivered_;
  std::vector<int64_t> parent_;  // -1: unknown
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_AGENTS_DELIVERY_TRACKER_H_
