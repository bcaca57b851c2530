#include "server/net/network_listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <utility>
#include <vector>

#include "common/time_units.h"
#include "server/net/descriptors.h"
#include "server/net/peer_address.h"
#include "server/net/socket_state.h"
#include "server/net/tcp_listener.h"

namespace canopy::net {
namespace {

sockaddr_storage NameOf(int fd, int (*name)(int, sockaddr*, socklen_t*)) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  if (name(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  return Unmapped(address);
}

bool SameHost(const sockaddr_storage& a, const sockaddr_storage& b) {
  if (a.ss_family != b.ss_family) return false;
  if (a.ss_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in*>(&a)->sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in*>(&b)->sin_addr.s_addr;
  }
  return std::memcmp(&reinterpret_cast<const sockaddr_in6*>(&a)->sin6_addr,
                     &reinterpret_cast<const sockaddr_in6*>(&b)->sin6_addr,
                     sizeof(in6_addr)) == 0;
}

bool IsLoopback(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    const auto* in = reinterpret_cast<const sockaddr_in*>(&address);
    return ntohl(in->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
  }
  const auto* in6 = reinterpret_cast<const sockaddr_in6*>(&address);
  return address.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

UniqueFd OpenNull() {
  return UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

}  // namespace

NetworkListener::NetworkListener(EventLoop* loop, Options options)
    : loop_(loop),
      options_(std::move(options)),
      null_(OpenNull()),
      duplicate_(OpenNull()),
      watch_(loop, {{options_.limits,
                     [](const Source& s) { return s.uid == geteuid(); },
                     [this](Id id) { return Look(id); }},
                    [this](Id id, SilenceWatch::Reason r) { End(id, r); }}) {}

NetworkListener::~NetworkListener() { Close(); }

Status NetworkListener::Listen(const std::string& host_and_port) {
  if (!null_ || !duplicate_) return Status(kErrUnreach, "no descriptor left");
  Result<std::vector<UniqueFd>> sockets = ListenAt(host_and_port);
  if (!sockets.ok()) return sockets.status();
  // Accepted connections inherit the options of their listening socket.
  const int one = 1;
  for (UniqueFd& socket : *sockets) {
    setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(socket.get(), IPPROTO_TCP, TCP_DEFER_ACCEPT, &options_.defer_s,
               sizeof options_.defer_s);
    if (options_.unacknowledged_ms > 0) {
      setsockopt(socket.get(), IPPROTO_TCP, TCP_USER_TIMEOUT,
                 &options_.unacknowledged_ms,
                 sizeof options_.unacknowledged_ms);
    }
    acceptors_.emplace_back(std::move(socket));
  }
  return Status();
}

uint16_t NetworkListener::port() const {
  return acceptors_.empty() ? uint16_t{0} : PortOf(acceptors_.front().fd());
}

void NetworkListener::Open() {
  for (Acceptor& acceptor : acceptors_) {
    loop_->Watch(acceptor.fd(), EPOLLIN,
                 [this, &acceptor](uint32_t) { OnReadable(&acceptor); });
  }
}

void NetworkListener::Close() {
  for (const Acceptor& acceptor : acceptors_) loop_->Unwatch(acceptor.fd());
  acceptors_.clear();
}

void NetworkListener::OnReadable(Acceptor* acceptor) {
  const bool exhausted = acceptor->Accept([this, acceptor](UniqueFd fd) {
    OnConnection(acceptor->fd(), std::move(fd));
  });
  if (exhausted && options_.log) {
    options_.log(
        "no descriptor left: refusing connections from the network; raise the "
        "limit on open files");
  }
}

void NetworkListener::OnConnection(int listener, UniqueFd fd) {
  const Source source = SourceOf(fd.get());
  const Supply supply = SupplyAt(fd.get());
  const bool room = watch_.MakeRoom(source, supply);
  if (!room || supply == Supply::kExhausted) {
    return Log(source, "refusing a connection of " + source.name +
                           (room ? ": the last descriptors are kept for jobs"
                                 : ": too many others wait to be admitted"));
  }
  const Id id = CookieOf(fd.get());
  silent_[id] = {fd.get(), source, PeerText(NameOf(fd.get(), getpeername))};
  watch_.Add(id, source);
  options_.take(listener, std::move(fd));
}

Source NetworkListener::SourceOf(int fd) const {
  const sockaddr_storage peer = NameOf(fd, getpeername);
  if (IsLoopback(peer) || SameHost(peer, NameOf(fd, getsockname))) {
    const Result<SocketOwner> owner = owners_.OwnerOf(fd);
    if (owner.ok()) return SourceOfUser(owner->uid);
  }
  return SourceOfAddress(peer);
}

void NetworkListener::Heard(std::string_view peer) {
  for (auto it = silent_.begin(); it != silent_.end();) {
    const auto one = it++;
    if (one->second.peer != peer) continue;
    watch_.Remove(one->first);
    silent_.erase(one);
  }
}

// Returns kGone for a connection that its owner has closed; the watch then
// removes it.
SilentConnections::State NetworkListener::Look(Id id) {
  const auto it = silent_.find(id);
  if (it == silent_.end()) return SilentConnections::State::kGone;
  const int fd = it->second.fd;
  if (CookieOf(fd) != id) {
    silent_.erase(it);
    return SilentConnections::State::kGone;
  }
  if (HasUnread(fd)) return SilentConnections::State::kUnread;
  return HasReceived(fd) ? SilentConnections::State::kBegun
                         : SilentConnections::State::kSilent;
}

void NetworkListener::End(Id id, SilenceWatch::Reason reason) {
  const auto silent = silent_.extract(id);
  if (!silent) return;
  const Silent& one = silent.mapped();
  ShutDown(one.fd, id);
  const std::string why =
      reason == SilenceWatch::Reason::kTimeout
          ? "it has sent nothing for " +
                std::to_string(options_.limits.timeout_ns / kNsPerSecond) + " s"
          : "it has sent nothing, and makes room for a newer one";
  Log(one.source, "closing the connection of " + one.source.name + " at " +
                      one.peer + ": " + why);
}

// Ends the connection for its present owner, as if its peer had ended it. The
// owner may close the descriptor at any time, and its number may be reused for
// another file. So a duplicate is made and identified before it is shut down.
void NetworkListener::ShutDown(int fd, Id id) {
  if (dup3(fd, duplicate_.get(), O_CLOEXEC) < 0) return;
  if (CookieOf(duplicate_.get()) == id) shutdown(duplicate_.get(), SHUT_RDWR);
  dup3(null_.get(), duplicate_.get(), O_CLOEXEC);
}

void NetworkListener::Log(const Source& source, std::string text) {
  if (!options_.log) return;
  const auto line =
      lines_.Admit(source.name, std::move(text), EventLoop::Now());
  if (line) options_.log(*line);
}

}  // namespace canopy::net
