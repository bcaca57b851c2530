// The fields of the messages about input and output (protos/overlay.proto).
#ifndef CANOPY_SERVER_OVERLAY_MESSAGE_WIRE_STREAMS_H_
#define CANOPY_SERVER_OVERLAY_MESSAGE_WIRE_STREAMS_H_

#include "common/describe.h"
#include "common/describe_procs.h"
#include "common/ids.h"
#include "server/core/messages.h"

namespace canopy::core {

using wire::Is;

template <typename V>
void Describe(V& v, Is<OutputData> auto& m) {
  v.Bounded(1, m.nspace, kMaxNspaceLen);
  v.Field(2, m.rank);
  v.Field(3, m.channel);
  v.Field(4, m.data);
  v.Field(5, m.end);
}

template <typename V>
void Describe(V& v, Is<OutputCredit> auto& m) {
  v.Bounded(1, m.nspace, kMaxNspaceLen);
  v.Field(2, m.bytes);
  v.Field(3, m.total);
  v.Field(4, m.resend);
}

template <typename V>
void Describe(V& v, Is<InputCredit> auto& m) {
  v.Bounded(1, m.nspace, kMaxNspaceLen);
  v.Field(2, m.bytes);
  v.Field(3, m.total);
  v.Field(4, m.resend);
  v.Field(5, m.run);
}

template <typename V>
void Describe(V& v, Is<InputData> auto& m) {
  v.Bounded(1, m.nspace, kMaxNspaceLen);
  v.Field(2, m.ranks);
  v.Field(3, m.data);
  v.Field(4, m.end);
  v.Field(5, m.run);
}

}  // namespace canopy::core

#endif  // CANOPY_SERVER_OVERLAY_MESSAGE_WIRE_STREAMS_H_
