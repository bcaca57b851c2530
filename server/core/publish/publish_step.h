// The step in progress, as the classes behind Publishing see it.
#ifndef CANOPY_SERVER_CORE_PUBLISH_PUBLISH_STEP_H_
#define CANOPY_SERVER_CORE_PUBLISH_PUBLISH_STEP_H_

#include <deque>
#include <utility>

#include "common/ids.h"
#include "server/core/debug_holds.h"
#include "server/core/messages.h"
#include "server/core/step/action.h"
#include "server/core/step/client_id.h"
#include "server/core/step/step_context.h"

namespace canopy::core {

// Lives as long as one call of Publishing. Messages of an agent to itself take
// the same path as those to others, so no code distinguishes the two cases.
struct PublishStep : StepContext {
  NodeId self;
  // Messages to this agent, handled before the step ends.
  std::deque<MessageBody>& local;
  const DebugHolds& holds;

  void Send(NodeId to, MessageBody body) {
    if (to == self) {
      local.push_back(std::move(body));
    } else {
      out.push_back(SendPeer{PeerMessage{self, to, std::move(body)}});
    }
  }
  // Replies to the client. Does nothing for client 0, which stands for a client
  // that has disconnected.
  void Reply(ClientId client, RequestId request, int status,
             Bytes payload = {}) {
    if (client == 0) return;
    out.push_back(ReplyClient{client, request, status, std::move(payload)});
  }
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_PUBLISH_PUBLISH_STEP_H_
