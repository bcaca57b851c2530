// The first exchange with an agent: the process identifies itself and receives
// the agent's welcome.
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
  std::unique_ptr<FrameSocket> socket;  // reads without a time limit
  std::string welcome;                  // payload of the welcome
};

// Connects to the agent's socket at `path`, sends `hello` and waits for the
// welcome. Makes up to three attempts if the agent closes the connection
// without an answer, which an agent does if this process was stopped before it
// could identify itself. Errors: kErrUnreach if no agent answers,
// kErrOutOfResource if no socket can be made, kErrTimeout after two minutes,
// kErrBadParam if `path` is too long for a socket, kErrHandshakeFailed if the
// answer is invalid, otherwise the status with which the agent refuses.
Result<Greeted> GreetAgent(const std::string& path, local::FrameType hello,
                           std::string_view payload);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_AGENT_GREETING_H_
