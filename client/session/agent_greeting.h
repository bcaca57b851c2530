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

// Connects to the agent's socket at `path`. An agent that does not take part
// in the greeting within two minutes counts as none. kErrUnreach: there is no
// agent; kErrBadParam: no socket has such a long path.
Result<std::unique_ptr<FrameSocket>> DialAgent(const std::string& path);

// Says `hello` and waits for the welcome, whose content is returned. From then
// on sending and receiving take as long as they need. kErrUnreach when the
// agent closed the connection, its own status when it refuses,
// kErrHandshakeFailed when it does not make sense.
Result<std::string> GreetAgent(FrameSocket* socket, local::FrameType hello,
                               std::string_view payload);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_AGENT_GREETING_H_
