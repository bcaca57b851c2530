// Accepts connections from the network for somebody else, to whom they belong
// from then on, and ends those that say nothing.
#ifndef CANOPY_SERVER_NET_NETWORK_LISTENER_H_
#define CANOPY_SERVER_NET_NETWORK_LISTENER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "common/event_loop.h"
#include "common/posix/acceptor.h"
#include "common/posix/unique_fd.h"
#include "common/status.h"
#include "server/net/line_limit.h"
#include "server/net/silence_watch.h"
#include "server/net/silent_connections.h"
#include "server/net/socket_owner.h"
#include "server/net/source.h"

namespace canopy::net {

// Within these, every address has its 64 connections that say nothing, and each
// other user of this machine too. This process's own user may have all, because
// every agent of a machine dials as that one.
inline constexpr SilenceLimits kNetworkLimits = {
    .timeout_ns = int64_t{10} * 1000 * 1000 * 1000,
    .per_source = 64,
    .per_trusted = 1024,
    .total = 1024,
    .patience = 0,
};

// The source of a connection from this machine is its user, of any other one
// its address. A connection counts as silent from its start until Heard, or
// until whoever has taken it closes it; of those that do not fit the limits one
// is ended in favour of the newcomer (silent_connections.h). The last free
// descriptors are left to the rest of the process (descriptors.h), and when
// there were none at all, accepting goes on as soon as there are some. Loop
// thread only; the loop outlives it.
class NetworkListener {
 public:
  struct Options {
    // Gets each connection, whose descriptor does not block and is closed on
    // exec. May close it at any time, in any thread. Leaves the listener alone.
    std::function<void(int listener, UniqueFd connection)> take;
    // Lines for the log about sources, at a limited rate. May be null.
    std::function<void(const std::string& line)> log;
    SilenceLimits limits = kNetworkLimits;
    // Seconds for which the kernel keeps a connection to itself while nothing
    // arrives on it (TCP_DEFER_ACCEPT). Peers of gRPC speak first, so connections
    // that are made at a high rate and say nothing do not displace theirs.
    int defer_s = 3;
    // How long sent data may remain unacknowledged before the kernel ends a
    // connection (TCP_USER_TIMEOUT). 0: as the system has it.
    uint32_t unacknowledged_ms = 0;
  };

  NetworkListener(EventLoop* loop, Options options);
  ~NetworkListener();
  NetworkListener(const NetworkListener&) = delete;
  NetworkListener& operator=(const NetworkListener&) = delete;

  // Reserves "HOST:PORT" (tcp_listener.h). Connections that are made from now
  // on wait in the backlog until Open. Once.
  Status Listen(const std::string& host_and_port);
  // 0 before Listen.
  uint16_t port() const;

  // Accepts from the next round on.
  void Open();
  // Accepts no more, and gives up the address. What was taken is not touched.
  void Close();

  // The connection of that peer (PeerText) has said what it is for. No effect
  // for one that is not known.
  void Heard(std::string_view peer);

  size_t num_silent() const { return silent_.size(); }

 private:
  using Id = SilenceWatch::Id;  // the kernel's cookie of the socket
  struct Silent {
    int fd;  // another file's by now, unless that has the cookie
    Source source;
    std::string peer;
  };

  void OnReadable(Acceptor* acceptor);
  void OnConnection(int listener, UniqueFd fd);
  Source SourceOf(int fd) const;
  SilentConnections::State Look(Id id);
  void End(Id id, SilenceWatch::Reason reason);
  void ShutDown(int fd, Id id);
  void Log(const Source& source, std::string text);

  EventLoop* const loop_;
  const Options options_;
  const SocketOwners owners_;
  std::list<Acceptor> acceptors_;
  // `duplicate_` becomes one of another descriptor, and then of `null_` again,
  // so that duplicating needs no free descriptor.
  const UniqueFd null_;
  const UniqueFd duplicate_;
  std::unordered_map<Id, Silent> silent_;
  SilenceWatch watch_;
  LineLimit lines_;
};

}  // namespace canopy::net

#endif  // CANOPY_SERVER_NET_NETWORK_LISTENER_H_
