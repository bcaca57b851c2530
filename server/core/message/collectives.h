// Messages between agents about collectives. They are plain values; see
// server/core/messages.h.
#ifndef CANOPY_SERVER_CORE_MESSAGE_COLLECTIVES_H_
#define CANOPY_SERVER_CORE_MESSAGE_COLLECTIVES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"

namespace canopy::core {

enum class CollectiveOp : uint8_t {
  kFence = 1,
  kConnect = 2,
  kDisconnect = 3,
  kGroupConstruct = 4,
  kGroupDestruct = 5,
};

// Returns whether the operation is on process groups, which have names.
constexpr bool IsGroupOp(CollectiveOp op) {
  return op == CollectiveOp::kGroupConstruct ||
         op == CollectiveOp::kGroupDestruct;
}

// Identity of one collective: the operation, the participants as the callers
// named them (sorted, without duplicates; a wildcard stays a wildcard), the
// group's name, and the number of earlier collectives with the same operation,
// participants and name. Every agent computes the same identity without
// communication. For group operations, a job that takes part as a whole is
// always a wildcard, however the callers named it.
struct CollectiveId {
  CollectiveOp op = CollectiveOp::kFence;
  std::vector<ProcId> participants;
  uint64_t sequence = 0;
  std::string name = {};  // the group's name; else empty

  auto operator<=>(const CollectiveId&) const = default;
};

// The contribution of one node's participants to a collective. `data` is a
// codec-form sequence that only the final receivers parse; see
// server/core/modex/modex.h. For group operations it is a GroupRecord
// (collective/group_record.h).
struct NodeContribution {
  NodeId node = kNoNode;
  Bytes data;  // empty without PMIX_COLLECT_DATA, except in group operations
};

// CollectiveUp::status of contributions to a collective whose release the
// sender has received. They are resent after a loss, for agents that may still
// wait. The value is that of PMIX_OPERATION_SUCCEEDED.
inline constexpr int kAlreadyReleased = -157;

// A subtree's contributions, sent by an agent to its parent in the collective's
// tree. `missing` has the participants that cannot arrive any more.
struct CollectiveUp {
  CollectiveId id;
  int status = 0;
  std::vector<NodeContribution> contributions;
  std::vector<ProcId> missing;
  // Set with kAlreadyReleased: the sender's result, as in CollectiveDown.
  Bytes result = {};
};

// The release, sent from the top of the collective's tree downwards.
struct CollectiveDown {
  CollectiveId id;
  int status = 0;
  std::vector<NodeContribution> contributions;
  std::vector<ProcId> missing;
  // For a successful group operation: the GroupRecord that the top computed
  // from the contributions, which are left out.
  Bytes result = {};
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_MESSAGE_COLLECTIVES_H_
