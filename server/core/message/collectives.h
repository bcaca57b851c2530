// Messages between agents about collectives. Plain values, see
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

// Operations on process groups, which have names.
constexpr bool IsGroupOp(CollectiveOp op) {
  return op == CollectiveOp::kGroupConstruct ||
         op == CollectiveOp::kGroupDestruct;
}

// Identity of one collective: the operation, the participants as the callers
// named them (sorted, without duplicates; a wildcard stays a wildcard), the
// group's name, and how many such collectives came before. Every agent computes
// the same identity without asking anyone. In the identity of a group's
// operations a job that takes part as a whole is a wildcard, however the
// callers named it.
struct CollectiveId {
  CollectiveOp op = CollectiveOp::kFence;
  std::vector<ProcId> participants;
  uint64_t sequence = 0;
  std::string name = {};  // of the group; else empty

  auto operator<=>(const CollectiveId&) const = default;
};

// What one node's participants bring to a collective. `data` is a codec-form
// sequence that only the final receivers parse: see server/core/modex/modex.h.
// Of a group's operations it is a GroupRecord (collective/group_record.h).
struct NodeContribution {
  NodeId node = kNoNode;
  Bytes data;  // empty without PMIX_COLLECT_DATA
};

// CollectiveUp::status of contributions to a collective that the sender has
// seen released: resent after a loss, for those that may still wait
// (PMIX_OPERATION_SUCCEEDED).
inline constexpr int kAlreadyReleased = -157;

// A subtree's contributions, from an agent to its parent in the collective's
// tree. `missing` names participants that can not arrive any more.
struct CollectiveUp {
  CollectiveId id;
  int status = 0;
  std::vector<NodeContribution> contributions;
  std::vector<ProcId> missing;
  // With kAlreadyReleased: the result that the sender has, as in
  // CollectiveDown.
  Bytes result = {};
};

// The release, from the top of the collective's tree downwards.
struct CollectiveDown {
  CollectiveId id;
  int status = 0;
  std::vector<NodeContribution> contributions;
  std::vector<ProcId> missing;
  // Of a group's operation that succeeded, in place of the contributions: the
  // GroupRecord that the top made of them.
  Bytes result = {};
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_MESSAGE_COLLECTIVES_H_
