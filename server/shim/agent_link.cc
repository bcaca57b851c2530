#include "server/shim/agent_link.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace canopy::process {
namespace {

bool PeerIsTrusted(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == geteuid() || peer.uid == 0);
}

}  // namespace

AgentLink::AgentLink(EventLoop* loop, UniqueFd agent, UniqueFd listener,
                     Events events)
    : loop_(loop), listener_(std::move(listener)), events_(std::move(events)) {
  agent_ = NewPeer(std::move(agent));
  if (!listener_) return;
  loop_->Watch(listener_.get(), EPOLLIN, [this](uint32_t) { OnConnection(); });
}

AgentLink::~AgentLink() { StopListening(); }

AgentLink::Peer AgentLink::NewPeer(UniqueFd socket) {
  const uint64_t id = next_peer_++;
  return {id,
          std::make_unique<FrameChannel>(
              loop_, std::move(socket),
              [this, id](FrameChannel::Frame& frame) { OnFrame(id, frame); },
              [this, id](const std::string&) { OnClosed(id); })};
}

void AgentLink::OnConnection() {
  UniqueFd socket(
      accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket || !PeerIsTrusted(socket.get())) return;
  candidate_ = NewPeer(std::move(socket));
}

void AgentLink::OnFrame(uint64_t peer, FrameChannel::Frame& frame) {
  if (peer == candidate_.id) return Greet(frame);
  if (!events_.on_frame(frame) && agent_.channel != nullptr) {
    agent_.channel->Fail("the agent broke the protocol");
  }
}

void AgentLink::Greet(FrameChannel::Frame& frame) {
  Hello hello;
  if (frame.type != FrameType::kHello || !Decode(frame.payload, &hello) ||
      hello.version != kShimProtocolVersion) {
    return candidate_.channel->Fail("no greeting");
  }
  if (agent_.channel != nullptr) {
    Send(FrameType::kReplaced, "");
    agent_.channel->Flush();
  }
  agent_ = std::exchange(candidate_, {});
  events_.on_agent();
}

void AgentLink::OnClosed(uint64_t peer) {
  if (peer == candidate_.id) candidate_ = {};
  if (peer != agent_.id) return;
  agent_ = {};
  events_.on_lost();
}

void AgentLink::Send(FrameType type, std::string_view head, Bytes body,
                     std::vector<UniqueFd> fds) {
  if (agent_.channel == nullptr) return;
  agent_.channel->Send(type, head, std::move(body), std::move(fds));
}

void AgentLink::StopListening() {
  candidate_ = {};
  if (!listener_) return;
  loop_->Unwatch(listener_.get());
  listener_.Reset();
}

}  // namespace canopy::process
