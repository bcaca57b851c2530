// The fields of the messages about groups made by invitation, as
// protos/overlay.proto describes them.
#ifndef CANOPY_SERVER_OVERLAY_MESSAGE_WIRE_GROUPS_H_
#define CANOPY_SERVER_OVERLAY_MESSAGE_WIRE_GROUPS_H_

#include "common/ids.h"
#include "server/core/messages.h"
#include "server/overlay/message_wire/procs.h"
#include "server/overlay/proto_wire.h"

namespace canopy::core {

using overlay::wire::Is;

template <typename V>
void Describe(V& v, Is<GroupJoin> auto& m) {
  v.Bounded(1, m.name, kMaxNspaceLen);
  v.Field(2, m.inviter);
  v.Field(3, m.proc);
  v.Field(4, m.request);
  v.Field(5, m.incarnation);
  v.Field(6, m.accepts);
  v.Field(7, m.info);
}

template <typename V>
void Describe(V& v, Is<GroupFormed> auto& m) {
  v.Bounded(1, m.name, kMaxNspaceLen);
  v.Field(2, m.inviter);
  v.Field(3, m.request);
  v.Field(4, m.status);
  v.Field(5, m.record);
}

}  // namespace canopy::core

#endif  // CANOPY_SERVER_OVERLAY_MESSAGE_WIRE_GROUPS_H_
