// The step in progress, as the parts of Publishing see it.
#ifndef CANOPY_SERVER_CORE_PUBLISH_PUBLISH_STEP_H_
#define CANOPY_SERVER_CORE_PUBLISH_PUBLISH_STEP_H_

#include <deque>
#include <utility>

#include "common/ids.h"
#include "server/core/debug_holds.h"
#include "server/core/messages.h"
#include "server/core/step/action.h"
#include "server/core/step/client_id.h"
#include "server/core/step/clock.h"

namespace canopy::core {

// Lives as long as one call of Publishing. Messages of an agent to itself take
// the same path as those to others, so that there is only one case.
struct PublishStep {
  TimeNs now;
  NodeId self;
  Actions& out;
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
  // Client 0 has disconnected and gets no answer.
  void Reply(ClientId client, RequestId request, int status,
             Bytes payload = {}) {
    if (client == 0) return;
    out.push_back(ReplyClient{client, request, status, std::move(payload)});
  }
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_PUBLISH_PUBLISH_STEP_H_
