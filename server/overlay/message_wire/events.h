// The fields of the messages about events (protos/overlay.proto).
#ifndef CANOPY_SERVER_OVERLAY_MESSAGE_WIRE_EVENTS_H_
#define CANOPY_SERVER_OVERLAY_MESSAGE_WIRE_EVENTS_H_

#include "common/describe.h"
#include "common/describe_procs.h"
#include "server/core/messages.h"

namespace canopy::core {

using wire::Is;

template <typename V>
void Describe(V& v, Is<EventMessage> auto& m) {
  v.Field(1, m.origin);
  v.Field(2, m.number);
  v.Field(3, m.status);
  v.Field(4, m.source);
  v.Field(5, m.range);
  v.Field(6, m.targets);
  v.Field(7, m.info);
  v.Field(8, m.request);
  v.Field(9, m.user);
}

}  // namespace canopy::core

#endif  // CANOPY_SERVER_OVERLAY_MESSAGE_WIRE_EVENTS_H_
