#include "server/rpc/tcp_pair.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace canopy::rpc {
namespace {

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int get() const { return fd_; }
  int Release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_;
};

absl::Status Failed() {
  return absl::UnavailableError(std::string("no TCP on the loopback: ") +
                                strerror(errno));
}

// Sets the same options as gRPC does for its own sockets: no Nagle delay.
bool Prepare(int fd) {
  const int on = 1;
  return fcntl(fd, F_SETFL, O_NONBLOCK) == 0 &&
         setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0;
}

}  // namespace

absl::StatusOr<TcpPair> MakeTcpPair() {
  const Socket listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  Socket far(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener.get(), name, size) != 0 || listen(listener.get(), 1) != 0 ||
      getsockname(listener.get(), name, &size) != 0 ||
      connect(far.get(), name, size) != 0) {
    return Failed();
  }
  sockaddr_in dialler{};
  sockaddr_in accepted{};
  socklen_t peer_size = sizeof accepted;
  Socket near(accept4(listener.get(), reinterpret_cast<sockaddr*>(&accepted),
                      &peer_size, SOCK_CLOEXEC));
  size = sizeof dialler;
  if (near.get() < 0 ||
      getsockname(far.get(), reinterpret_cast<sockaddr*>(&dialler), &size) !=
          0) {
    return Failed();
  }
  // Another process on this machine may have connected first.
  if (accepted.sin_port != dialler.sin_port) {
    return absl::UnavailableError(
        "another process has connected to the self-test");
  }
  if (!Prepare(near.get()) || !Prepare(far.get())) return Failed();
  return TcpPair{near.Release(), far.Release()};
}

}  // namespace canopy::rpc
