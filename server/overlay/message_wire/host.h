// The fields of the requests to the host and their replies
// (protos/overlay.proto).
#ifndef CANOPY_SERVER_OVERLAY_MESSAGE_WIRE_HOST_H_
#define CANOPY_SERVER_OVERLAY_MESSAGE_WIRE_HOST_H_

#include "common/describe.h"
#include "common/describe_procs.h"
#include "common/ids.h"
#include "server/core/messages.h"

namespace canopy::core {

using wire::Is;

template <typename V>
void Describe(V& v, Is<HostRequest> auto& m) {
  v.Field(1, m.proc);
  v.Field(2, m.request);
  v.Field(3, m.op);
  v.Field(4, m.uid);
  v.Field(5, m.gid);
  v.Bounded(6, m.nspace, kMaxNspaceLen);
  v.Field(7, m.targets);
  v.Field(8, m.call);
}

template <typename V>
void Describe(V& v, Is<HostReply> auto& m) {
  v.Field(1, m.proc);
  v.Field(2, m.request);
  v.Bounded(3, m.nspace, kMaxNspaceLen);
  v.Field(4, m.status);
  v.Field(5, m.results);
}

}  // namespace canopy::core

#endif  // CANOPY_SERVER_OVERLAY_MESSAGE_WIRE_HOST_H_
