// Tracks the delivery of a command to the members of an overlay when it was
// sent to some of them.
#ifndef CANOPY_CLIENT_CLI_AGENTS_DELIVERY_TRACKER_H_
#define CANOPY_CLIENT_CLI_AGENTS_DELIVERY_TRACKER_H_

#include <cstdint>
#include <vector>

#include "protos/control.pb.h"

namespace canopy::cli {

// An agent forwards it to its subtree. By member number; ancestors have smaller
// numbers.
class DeliveryTracker {
 public:
  explicit DeliveryTracker(int members)
      : delivered_(static_cast<size_t>(members)),
        parent_(delivered_.size(), -1) {}

  // The command was sent to this one.
  void Add(int member) { delivered_[static_cast<size_t>(member)] = true; }
  // `top` got the command; `status`, its recent answer with `ask_all`, says
  // which others it reaches.
  void AddBelow(const control::v1::StatusReply& status, int top);

  // It got the command, directly or certainly from its parent.
  bool Has(int member) const { return delivered_[static_cast<size_t>(member)]; }
  // Its parent got the command; whether they are linked is unknown.
  bool MayHave(int member) const;

 private:
  std::vector<bool> delivered_;
  std::vector<int64_t> parent_;  // -1: not known
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_AGENTS_DELIVERY_TRACKER_H_
