#include "server/core/collective/operations.h"

namespace canopy::core {

Operation& Operations::Of(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::kFence:
      return fence_;
    case CollectiveOp::kConnect:
    case CollectiveOp::kDisconnect:
      return connect_;
    case CollectiveOp::kGroupConstruct:
      return construct_;
    case CollectiveOp::kGroupDestruct:
      return destruct_;
  }
  return fence_;
}

}  // namespace canopy::core
