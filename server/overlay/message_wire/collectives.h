// The fields of the messages about collectives (protos/overlay.proto).
#ifndef CANOPY_SERVER_OVERLAY_MESSAGE_WIRE_COLLECTIVES_H_
#define CANOPY_SERVER_OVERLAY_MESSAGE_WIRE_COLLECTIVES_H_

#include "common/describe.h"
#include "common/describe_procs.h"
#include "common/ids.h"
#include "server/core/messages.h"

namespace canopy::core {

using wire::Is;

template <typename V>
void Describe(V& v, Is<CollectiveId> auto& m) {
  v.Field(1, m.op);
  v.Field(2, m.participants);
  v.Field(3, m.sequence);
  v.Bounded(4, m.name, kMaxNspaceLen);
}

template <typename V>
void Describe(V& v, Is<NodeContribution> auto& m) {
  v.Field(1, m.node);
  v.Field(2, m.data);
}

template <typename V, typename M>
requires Is<M, CollectiveUp> || Is<M, CollectiveDown>
void Describe(V& v, M& m) {
  v.Field(1, m.id);
  v.Field(2, m.status);
  v.Field(3, m.contributions);
  v.Field(4, m.missing);
  v.Field(5, m.result);
}

}  // namespace canopy::core

#endif  // CANOPY_SERVER_OVERLAY_MESSAGE_WIRE_COLLECTIVES_H_
