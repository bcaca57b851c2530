// Messages between agents about events. Plain values, see
// server/core/messages.h.
#ifndef CANOPY_SERVER_CORE_MESSAGE_EVENTS_H_
#define CANOPY_SERVER_CORE_MESSAGE_EVENTS_H_

#include <cstdint>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"

namespace canopy::core {

// An event on its way to the agents that may have receivers.
struct EventMessage {
  NodeId origin = kNoNode;
  uint64_t number = 0;  // of the origin's
  // By which the source's next attempt to raise the same is recognised; 0: it
  // makes none. See IdOf in server/core/event/events.h.
  uint64_t request = 0;
  int status = 0;
  ProcId source;
  uint8_t range = 0;            // pmix_data_range_t
  std::vector<ProcId> targets;  // with PMIX_RANGE_CUSTOM, or affected procs
  Bytes info;                   // codec form: SIZE n, then n INFO
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_MESSAGE_EVENTS_H_
