// Frames of fences, connects, disconnects and process groups. `info` is in
// codec form: the directives of the caller.
#ifndef CANOPY_COMMON_LOCAL_COLLECTIVES_H_
#define CANOPY_COMMON_LOCAL_COLLECTIVES_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "common/describe_procs.h"

namespace canopy::local {

// Limits of lists in a frame. An element needs many times more memory than
// bytes in the frame.
inline constexpr size_t kMaxProcs = 1 << 20;
inline constexpr size_t kMaxSeries = 1 << 16;

enum class CollectiveOp : uint8_t {
  kFence = 1,
  kConnect = 2,
  kDisconnect = 3,
  kGroupConstruct = 4,
  kGroupDestruct = 5,
};

constexpr bool IsGroupOp(CollectiveOp op) {
  return op == CollectiveOp::kGroupConstruct ||
         op == CollectiveOp::kGroupDestruct;
}

// The identity of a series of collectives: its operation and the processes
// that the caller has named.
struct Series {
  CollectiveOp op = CollectiveOp::kFence;
  std::string_view name;  // of the group; empty for other operations
  // Empty: all processes of the caller's namespace, or of the group.
  std::vector<ProcView> participants;

  auto operator<=>(const Series&) const = default;
};

template <typename V>
void Describe(V& v, wire::Is<Series> auto& m) {
  v.Choice(1, m.op, CollectiveOp::kGroupDestruct);
  v.Bounded(2, m.name, kMaxNspaceLen);
  v.Bounded(3, m.participants, kMaxProcs);
}

inline constexpr uint32_t kSeriesField = 1;

// kCollective. The payload of the reply to a construct is in codec form: the
// results.
struct Collective {
  Series series;
  bool collect = false;     // data of the participants (fence)
  uint32_t timeout_ms = 0;  // 0: none
  std::string_view info;
};

template <typename V>
void Describe(V& v, wire::Is<Collective> auto& m) {
  v.Field(kSeriesField, m.series);
  v.Field(2, m.collect);
  v.Field(3, m.timeout_ms);
  v.Field(4, m.info);
}

enum class GroupStep : uint8_t { kInvite = 1, kJoin = 2, kLeave = 3 };

// kGroupCall. The agent executes a leave. Invite and join proceed by events;
// the agent only measures their time and replies when it has passed.
struct GroupCall {
  GroupStep step = GroupStep::kLeave;
  std::string_view group;
  std::vector<ProcView> procs;
  bool accepts = false;
  uint32_t timeout_ms = 0;  // 0: none
  std::string_view info;
};

template <typename V>
void Describe(V& v, wire::Is<GroupCall> auto& m) {
  v.Choice(1, m.step, GroupStep::kLeave);
  v.Bounded(2, m.group, kMaxNspaceLen);
  v.Bounded(3, m.procs, kMaxProcs);
  v.Field(4, m.accepts);
  v.Field(5, m.timeout_ms);
  v.Field(6, m.info);
}

}  // namespace canopy::local

#endif  // CANOPY_COMMON_LOCAL_COLLECTIVES_H_
