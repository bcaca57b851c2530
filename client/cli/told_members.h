// Which members of an overlay an order has come to, when it was given to some.
#ifndef CANOPY_CLIENT_CLI_TOLD_MEMBERS_H_
#define CANOPY_CLIENT_CLI_TOLD_MEMBERS_H_

#include <cstdint>
#include <vector>

#include "protos/control.pb.h"

namespace canopy::cli {

// An agent passes the order on to those below it. By the member's number; those
// above a member have smaller ones.
class ToldMembers {
 public:
  explicit ToldMembers(int members)
      : told_(static_cast<size_t>(members)), parent_(told_.size(), -1) {}

  // The order was given to this one.
  void Add(int member) { told_[static_cast<size_t>(member)] = true; }
  // `top` was told; by its own account, of a moment ago, with `ask_all`, it
  // reaches others.
  void AddBelow(const control::v1::StatusReply& status, int top);

  // It was told, or has been by the one above it for sure.
  bool Has(int member) const { return told_[static_cast<size_t>(member)]; }
  // The one above it was told; whether they are linked is not known.
  bool MayHave(int member) const;

 private:
  std::vector<bool> told_;
  std::vector<int64_t> parent_;  // -1: not known
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_TOLD_MEMBERS_H_
