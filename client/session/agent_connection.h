// A session's connection to its agent: it handles the frames that the agent
// sends without a request, and reattaches to a successor.
#ifndef CANOPY_CLIENT_SESSION_AGENT_CONNECTION_H_
#define CANOPY_CLIENT_SESSION_AGENT_CONNECTION_H_

#include <atomic>
#include <memory>
#include <string_view>

#include "client/channel/channel.h"
#include "client/channel/frame_socket.h"
#include "client/channel/progress.h"
#include "client/events/event_engine.h"
#include "client/events/seen_events.h"
#include "client/events/subscriptions.h"
#include "client/session/bootstrap.h"
#include "client/session/commits.h"
#include "client/session/job_fences.h"
#include "client/session/namespaces.h"
#include "client/session/successor_search.h"
#include "common/ids.h"
#include "common/local_protocol.h"
#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace canopy::client {

// Threads: the ChannelSink's functions run in the thread that reads the
// channel, one at a time. All other functions may run in any thread.
class AgentConnection final : public ChannelSink {
 public:
  // The parts of the session that the agent's frames change. Their state is
  // sent to a successor. All outlive the connection.
  struct Parts {
    ProcId server;
    Namespaces& namespaces;
    JobFences& fences;
    Commits& commits;
    const Subscriptions& subscriptions;
    SeenEvents& seen;
    EventEngine& events;
    Progress& progress;
  };

  // Moves the socket and the environment out of *bootstrap. If there is no
  // socket, there is no channel.
  AgentConnection(Bootstrap* bootstrap, Parts parts);

  const ProcId& server() const { return parts_.server; }
  // Returns null if there is no agent, as for a singleton.
  Channel* channel() { return channel_.get(); }
  // Returns -1 if there is no agent.
  int socket_fd() const { return socket_fd_.load(); }
  // Returns true if the process reattaches to a successor when the agent is
  // lost.
  bool MayReattach() const { return search_.expected(); }
  // Fails all pending requests with `status`; later calls fail at once.
  void Close(int status = kErrLostConnection);

  // ChannelSink.
  void OnEvent(std::string_view payload) override;
  void OnSegment(std::string_view payload, UniqueFd fd) override;
  void OnLost() override;
  void OnHandover(std::string_view payload) override;
  void OnAnswered(local::FrameType type, std::string_view request,
                  int status) override;
  std::unique_ptr<FrameSocket> Reattach() override;

 private:
  int RestoreState(FrameSocket& socket);
  void Adopt(Bootstrap* successor)
      CANOPY_REQUIRES(parts_.fences.mutex(), parts_.commits.mutex());

  const Parts parts_;
  SuccessorSearch search_;
  std::atomic<int> socket_fd_{-1};
  std::unique_ptr<Channel> channel_;
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_AGENT_CONNECTION_H_
