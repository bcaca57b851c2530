// The fields of a process identifier (protos/overlay.proto).
#ifndef CANOPY_SERVER_OVERLAY_MESSAGE_WIRE_PROCS_H_
#define CANOPY_SERVER_OVERLAY_MESSAGE_WIRE_PROCS_H_

#include "common/ids.h"
#include "server/overlay/proto_wire.h"

namespace canopy {

template <typename V>
void Describe(V& v, overlay::wire::Is<ProcId> auto& m) {
  v.Bounded(1, m.nspace, kMaxNspaceLen);
  v.Field(2, m.rank);
}

}  // namespace canopy

#endif  // CANOPY_SERVER_OVERLAY_MESSAGE_WIRE_PROCS_H_
