// All operations of collectives, by CollectiveOp.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_OPERATIONS_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_OPERATIONS_H_

#include "server/core/collective/data_operations.h"
#include "server/core/collective/group_operations.h"
#include "server/core/collective/operation.h"
#include "server/core/messages.h"

namespace canopy::core {

// Used by one thread.
class Operations {
 public:
  explicit Operations(const CollectiveParts& parts)
      : fence_(parts),
        connect_(parts),
        construct_(parts),
        destruct_(parts, construct_) {}

  Operation& Of(CollectiveOp op);
  const GroupConstruct& construct() const { return construct_; }
  // Sets whether records for a successor of this agent are emitted.
  void set_persists(bool persists) { construct_.set_persists(persists); }

 private:
  FenceOperation fence_;
  ConnectOperation connect_;
  GroupConstruct construct_;
  GroupDestruct destruct_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_OPERATIONS_H_
