// Actions of the core for local processes, executed by their endpoint.
#ifndef CANOPY_SERVER_CORE_STEP_CLIENT_ACTIONS_H_
#define CANOPY_SERVER_CORE_STEP_CLIENT_ACTIONS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/recent_events.h"
#include "server/core/step/client_id.h"

namespace canopy::core {

// Answer to a client's request. For a get that succeeded, the data is already
// published (PublishRank comes earlier in the same step) and `payload` holds
// the target's visible KVALs for adapters without shared memory.
struct ReplyClient {
  ClientId client = 0;
  RequestId request = 0;
  int status = 0;
  Bytes payload;
};

// An event as its receivers get it.
struct ClientEvent {
  EventId id;  // an event that the process has got already is not for it
  int status = 0;
  ProcId source;
  uint8_t range = 0;
  Bytes info;
};

struct NotifyClient {
  ClientId client = 0;
  std::shared_ptr<const ClientEvent> event;  // the same for all receivers
};

struct CloseClient {
  ClientId client = 0;
  std::string reason;
};

// The last connection of a tool has ended: what it asked adapters to do for it
// ends, as it would with a job.
struct ToolGone {
  ProcId proc;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_CLIENT_ACTIONS_H_
