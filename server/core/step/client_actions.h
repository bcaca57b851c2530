// Actions of the core for local processes. The endpoint of a process executes
// them.
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

// The reply to a client's request. For a successful get, the data is already
// published (PublishRank comes earlier in the same step), and `payload` holds
// the target's visible KVALs for adapters without shared memory.
struct ReplyClient {
  ClientId client = 0;
  RequestId request = 0;
  int status = 0;
  Bytes payload;
};

// The fence at which these clients wait in barriers (LocalFenceArrived) has
// ended for them.
struct ReleaseFence {
  int status = 0;
  std::vector<ClientId> clients;  // at least one; of one kind of endpoint
};

// An event in the form in which clients receive it.
struct ClientEvent {
  // identifies the event, so that a process gets it only once
  EventId id;
  int status = 0;
  ProcId source;
  uint8_t range = 0;
  Bytes info;
};

struct NotifyClient {
  ClientId client = 0;
  std::shared_ptr<const ClientEvent> event;  // shared by all receivers
};

struct CloseClient {
  ClientId client = 0;
  std::string reason;
};

// Reports that the last connection of a tool has ended. Adapters release their
// objects for the tool, as they do at the end of a job.
struct ToolGone {
  ProcId proc;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_CLIENT_ACTIONS_H_
