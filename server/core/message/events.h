// Messages between agents about events. They are plain values; see
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
  uint64_t number = 0;  // numbered by the origin
  // Identifies the event if the source may raise it a second time, otherwise 0.
  // See IdOf in server/core/event/event_cache.h.
  uint64_t request = 0;
  int status = 0;
  ProcId source;
  uint8_t range = 0;  // pmix_data_range_t
  // with PMIX_RANGE_CUSTOM: the receivers; otherwise the affected processes
  std::vector<ProcId> targets;
  Bytes info;  // codec form: SIZE n, then n INFO
  // The user of the process that raised the event, plus 1. An agent's event
  // about a process set has the user of the set's owner; any other event of an
  // agent has 0, because it is for every user.
  uint64_t user = 0;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_MESSAGE_EVENTS_H_
