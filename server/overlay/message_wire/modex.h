// The fields of the messages about committed data (protos/overlay.proto).
#ifndef CANOPY_SERVER_OVERLAY_MESSAGE_WIRE_MODEX_H_
#define CANOPY_SERVER_OVERLAY_MESSAGE_WIRE_MODEX_H_

#include "common/describe.h"
#include "common/describe_procs.h"
#include "common/ids.h"
#include "server/core/messages.h"

namespace canopy::core {

using wire::Is;

template <typename V>
void Describe(V& v, Is<DmodexRequest> auto& m) {
  v.Field(1, m.request);
  v.Field(2, m.target);
  v.Bounded(3, m.key, kMaxKeyLen);
  v.Field(4, m.timeout_ms);
  v.Field(5, m.known);
  v.Bounded(6, m.reader, kMaxNspaceLen);
  v.Field(7, m.uid);
  v.Field(8, m.has_uid);
}

template <typename V>
void Describe(V& v, Is<DmodexReply> auto& m) {
  v.Field(1, m.request);
  v.Field(2, m.status);
  v.Field(3, m.target);
  v.Field(4, m.data);
  v.Field(5, m.version);
  v.Field(6, m.base);
}

template <typename V>
void Describe(V& v, Is<RankRestarted> auto& m) {
  v.Bounded(1, m.nspace, kMaxNspaceLen);
  v.Field(2, m.rank);
  v.Field(3, m.incarnation);
}

}  // namespace canopy::core

#endif  // CANOPY_SERVER_OVERLAY_MESSAGE_WIRE_MODEX_H_
