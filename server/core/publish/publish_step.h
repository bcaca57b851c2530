// The step in progress, for the parts of Publishing.
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

// Lives as long as one call of Publishing. What an agent has to say to itself
// takes the same way as what it says to others, so that there is one case.
struct PublishStep {
  TimeNs now;
  NodeId self;
  Actions& out;
  // Handled before the step ends.
  std::deque<MessageBody>& local;
  const DebugHolds& holds;

  void Send(NodeId to, MessageBody body) {
    if (to == self) {
      local.push_back(std::move(body));
    } else {
      out.push_back(SendPeer{PeerMessage{self, to, std::move(body)}});
    }
  }
  // No answer for client 0, which is gone.
  void Reply(ClientId client, RequestId request, int status,
             Bytes payload = {}) {
    if (client == 0) return;
    out.push_back(ReplyClient{client, request, status, std::move(payload)});
  }
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_PUBLISH_PUBLISH_STEP_H_
