#include "server/net/socket_state.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace canopy::net {

uint64_t CookieOf(int fd) {
  uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  const bool known = getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &size) == 0;
  return known ? cookie : 0;
}

bool HasUnread(int fd) {
  int bytes = 0;
  return ioctl(fd, FIONREAD, &bytes) == 0 && bytes > 0;
}

bool HasReceived(int fd) {
  tcp_info info = {};
  socklen_t size = sizeof info;
  return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
         info.tcpi_bytes_received > 0;
}

}  // namespace canopy::net
