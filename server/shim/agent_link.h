// The shim's connection to the agent that it serves, and the replacement of
// that agent by a later one.
#ifndef CANOPY_SERVER_SHIM_AGENT_LINK_H_
#define CANOPY_SERVER_SHIM_AGENT_LINK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "common/bytes.h"
#include "common/event_loop.h"
#include "common/posix/unique_fd.h"
#include "server/shim/channel.h"
#include "server/shim/protocol.h"

namespace canopy::process {

// Serves one agent at a time: the newest that has sent Hello. The agent before
// it gets Replaced. Loop thread only.
class AgentLink {
 public:
  // The callbacks are called in the loop. They must not destroy the link.
  struct Events {
    // Handles a frame of the agent. Returns false if the agent broke the
    // protocol; it is then disconnected.
    std::function<bool(FrameChannel::Frame& frame)> on_frame;
    // Called when a later agent is served from now on.
    std::function<void()> on_agent;
    // Called when the agent is lost and no other agent is served.
    std::function<void()> on_lost;
  };

  // Takes ownership of a connected socket and a listening socket. Without a
  // valid listener, there are no further agents.
  AgentLink(EventLoop* loop, UniqueFd agent, UniqueFd listener, Events events);
  ~AgentLink();
  AgentLink(const AgentLink&) = delete;
  AgentLink& operator=(const AgentLink&) = delete;

  // Sends a frame to the agent. Has no effect while there is no agent.
  void Send(FrameType type, std::string_view head, Bytes body = Bytes(),
            std::vector<UniqueFd> fds = {});
  // Returns the result of FrameChannel::HasWaiting; false while there is no
  // agent.
  bool HasWaiting(const FrameChannel::Wanted& wanted) const {
    return connected() && agent_.channel->HasWaiting(wanted);
  }
  bool connected() const { return agent_.channel != nullptr; }
  // Stops accepting further agents.
  void StopListening();

 private:
  struct Peer {
    uint64_t id = 0;
    std::unique_ptr<FrameChannel> channel;
  };

  Peer NewPeer(UniqueFd socket);
  void OnConnection();
  void OnFrame(uint64_t peer, FrameChannel::Frame& frame);
  void OnClosed(uint64_t peer);
  void Greet(FrameChannel::Frame& frame);

  EventLoop* const loop_;
  UniqueFd listener_;
  const Events events_;
  uint64_t next_peer_ = 1;
  Peer agent_;
  Peer candidate_;  // an agent that has not sent Hello yet
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_AGENT_LINK_H_
