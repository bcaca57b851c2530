#include "server/openpmix/stream_position.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstddef>

namespace canopy::openpmix {
namespace {

// States of a connection in the TCP standard, with Linux's numbers.
constexpr uint8_t kEstablished = 1;
constexpr uint8_t kCloseWait = 8;

// The number of attempts. Bytes may arrive and be acknowledged between the two
// queries of an attempt, which is then repeated.
constexpr int kMaxReads = 1000;

bool Ask(int fd, tcp_info* info) {
  *info = {};
  socklen_t size = sizeof *info;
  return getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &size) == 0 &&
         size >= offsetof(tcp_info, tcpi_bytes_received) +
                     sizeof info->tcpi_bytes_received;
}

}  // namespace

Result<StreamPosition> PositionOf(int fd) {
  for (int i = 0; i < kMaxReads; ++i) {
    tcp_info before;
    tcp_info after;
    int unread = 0;
    int unacknowledged = 0;
    if (!Ask(fd, &before) || ioctl(fd, SIOCINQ, &unread) != 0 ||
        ioctl(fd, SIOCOUTQ, &unacknowledged) != 0 || !Ask(fd, &after)) {
      return Status(kErrNotSupported, "the kernel does not report it");
    }
    if (before.tcpi_state != kEstablished && before.tcpi_state != kCloseWait) {
      return Status(kErrLostConnection, "the connection is gone");
    }
    if (before.tcpi_state != after.tcpi_state ||
        before.tcpi_bytes_received != after.tcpi_bytes_received ||
        before.tcpi_bytes_acked != after.tcpi_bytes_acked) {
      continue;
    }
    // The end of the client's stream counts as one received byte.
    const uint64_t end = after.tcpi_state == kCloseWait ? 1 : 0;
    const uint64_t received = after.tcpi_bytes_received;
    if (received < static_cast<uint64_t>(unread) + end) break;
    return StreamPosition{
        received - end - static_cast<uint64_t>(unread),
        after.tcpi_bytes_acked + static_cast<uint64_t>(unacknowledged)};
  }
  return Status(kErrNotSupported, "the kernel's numbers do not agree");
}

}  // namespace canopy::openpmix
