// The first exchange with an agent: who connects, and what it is given.
#ifndef CANOPY_CLIENT_SESSION_AGENT_GREETING_H_
#define CANOPY_CLIENT_SESSION_AGENT_GREETING_H_

#include <memory>
#include <string>
#include <string_view>

#include "client/channel/frame_socket.h"
#include "common/local_protocol.h"
#include "common/status.h"

namespace canopy::client {

struct Greeted {
  std::unique_ptr<FrameSocket> socket;  // takes as long as it needs
  std::string welcome;                  // its content
};

// Connects to the agent's socket at `path`, sends `hello` and waits for the
// welcome. An agent that closes the connection without an answer is greeted
// again, three times in all, because it does so when this process was stopped
// before it could say who it is. kErrUnreach: there is no agent, or it does not
// answer; kErrTimeout: not within two minutes; kErrBadParam: no socket has such
// a long path; kErrHandshakeFailed: the answer does not make sense; else the
// status with which the agent refuses.
Result<Greeted> GreetAgent(const std::string& path, local::FrameType hello,
                           std::string_view payload);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_AGENT_GREETING_H_
