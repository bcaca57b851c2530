// Accepts connections from the network, passes them to a receiver, which then
// owns them, and ends connections whose peers stay silent.
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

// Every address, and every other user of this machine, may have 64 silent
// connections. This process's own user may use the whole total, because all
// agents of a machine dial as this user.
inline constexpr SilenceLimits kNetworkLimits = {
    .timeout_ns = int64_t{10} * 1000 * 1000 * 1000,
    .per_source = 64,
    .per_trusted = 1024,
    .total = 1024,
    .patience = 0,
};

// The source of a connection from this machine is the user, and of any other
// connection the address. A connection counts as silent until Heard or until
// its owner closes it. If a new connection exceeds the limits, another one is
// ended in its favour (silent_connections.h). The last free descriptors are
// reserved for the rest of the process (descriptors.h). If no descriptor was
// left at all, accepting resumes as soon as there is one. Loop thread only; the
// loop must outlive this object.
class NetworkListener {
 public:
  struct Options {
    // Gets each connection; its descriptor is non-blocking and close-on-exec.
    // The receiver owns it and may close it at any time, in any thread. The
    // function must not call the listener.
    std::function<void(int listener, UniqueFd connection)> take;
    // Gets lines for the log about sources, at a limited rate. May be null.
    std::function<void(const std::string& line)> log;
    SilenceLimits limits = kNetworkLimits;
    // Seconds for which the kernel withholds a connection on which no data
    // arrives (TCP_DEFER_ACCEPT). gRPC's clients send first, so even large
    // numbers of silent connections cannot displace those of gRPC's clients.
    int defer_s = 3;
    // Time after which the kernel ends a connection with unacknowledged data
    // (TCP_USER_TIMEOUT), in milliseconds. 0: the system's default.
    uint32_t unacknowledged_ms = 0;
  };

  NetworkListener(EventLoop* loop, Options options);
  ~NetworkListener();
  NetworkListener(const NetworkListener&) = delete;
  NetworkListener& operator=(const NetworkListener&) = delete;

  // Reserves "HOST:PORT"; errors are those of ListenAt (tcp_listener.h).
  // Connections made from now on wait in the backlog until Open. Must be called
  // once.
  Status Listen(const std::string& host_and_port);
  // Returns 0 before Listen.
  uint16_t port() const;

  // Accepts connections from the next round on.
  void Open();
  // Stops accepting and gives up the address. Connections that were passed on
  // are not affected.
  void Close();

  // Records that the connection of this peer (PeerText) has identified itself.
  // No effect for an unknown peer.
  void Heard(std::string_view peer);

  size_t num_silent() const { return silent_.size(); }

 private:
  using Id = SilenceWatch::Id;  // the kernel's cookie of the socket
  struct Silent {
    int fd;  // may be another file's by now; the cookie decides
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
  // `duplicate_` becomes a duplicate of another descriptor and then of `null_`
  // again, so that duplicating needs no free descriptor.
  const UniqueFd null_;
  const UniqueFd duplicate_;
  std::unordered_map<Id, Silent> silent_;
  SilenceWatch watch_;
  LineLimit lines_;
};

}  // namespace canopy::net

#endif  // CANOPY_SERVER_NET_NETWORK_LISTENER_H_
