#include "server/net/socket_owner.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>

#include "server/net/peer_address.h"

namespace canopy::net {
namespace {

struct Endpoint {
  sa_family_t family = AF_UNSPEC;
  in_port_t port = 0;  // network byte order
  uint32_t address[4] = {};
};

std::optional<Endpoint> ToEndpoint(const sockaddr_storage& storage) {
  Endpoint out;
  out.family = storage.ss_family;
  if (storage.ss_family == AF_INET) {
    const auto* in = reinterpret_cast<const sockaddr_in*>(&storage);
    out.port = in->sin_port;
    out.address[0] = in->sin_addr.s_addr;
    return out;
  }
  if (storage.ss_family == AF_INET6) {
    const auto* in = reinterpret_cast<const sockaddr_in6*>(&storage);
    out.port = in->sin6_port;
    std::memcpy(out.address, &in->sin6_addr, sizeof out.address);
    return out;
  }
  return std::nullopt;
}

// ------------------------------------------------------------- sock_diag ---

struct DiagRequest {
  nlmsghdr header;
  inet_diag_req_v2 body;
};

// Returns a request for the socket whose address is `peer` and that is
// connected to `own`.
DiagRequest MakeDiagRequest(const Endpoint& peer, const Endpoint& own) {
  DiagRequest request = {};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.body.sdiag_family = static_cast<uint8_t>(peer.family);
  request.body.sdiag_protocol = IPPROTO_TCP;
  request.body.idiag_states = UINT32_MAX;
  inet_diag_sockid& id = request.body.id;
  id.idiag_sport = peer.port;
  id.idiag_dport = own.port;
  std::memcpy(id.idiag_src, peer.address, sizeof peer.address);
  std::memcpy(id.idiag_dst, own.address, sizeof own.address);
  id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
  id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return request;
}

// Returns the owner that sock_diag reports; kErrNotSupported if the kernel does
// not answer such requests.
Result<SocketOwner> AskSockDiag(int diag, const Endpoint& peer,
                                const Endpoint& own) {
  const DiagRequest request = MakeDiagRequest(peer, own);
  if (send(diag, &request, sizeof request, 0) != sizeof request) {
    return Status(kErrNotSupported);
  }
  alignas(nlmsghdr) char buffer[8192];
  const ssize_t n = recv(diag, buffer, sizeof buffer, MSG_DONTWAIT);
  if (n < 0 ||
      !NLMSG_OK(reinterpret_cast<nlmsghdr*>(buffer), static_cast<size_t>(n))) {
    return Status(kErrNotSupported);
  }
  const auto* header = reinterpret_cast<const nlmsghdr*>(buffer);
  if (header->nlmsg_type == NLMSG_ERROR) {
    const auto* error = static_cast<const nlmsgerr*>(NLMSG_DATA(header));
    return Status(error->error == -ENOENT &&
                          header->nlmsg_len >= NLMSG_LENGTH(sizeof(int))
                      ? kErrNotFound
                      : kErrNotSupported);
  }
  if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
      header->nlmsg_len < NLMSG_LENGTH(sizeof(inet_diag_msg))) {
    return Status(kErrNotSupported);
  }
  const auto* found = static_cast<const inet_diag_msg*>(NLMSG_DATA(header));
  if (found->idiag_inode == 0) return Status(kErrNotFound);
  return SocketOwner{found->idiag_uid, found->idiag_inode};
}

// --------------------------------------------------------- /proc/net/tcp ---

// Returns an address in the format of /proc/net/tcp.
std::string Printed(const Endpoint& e) {
  char text[64];
  if (e.family == AF_INET) {
    std::snprintf(text, sizeof text, "%08X:%04X", e.address[0], ntohs(e.port));
  } else {
    std::snprintf(text, sizeof text, "%08X%08X%08X%08X:%04X", e.address[0],
                  e.address[1], e.address[2], e.address[3], ntohs(e.port));
  }
  return text;
}

Result<SocketOwner> SearchProcNet(const Endpoint& peer, const Endpoint& own) {
  const bool v4 = peer.family == AF_INET;
  FILE* file = std::fopen(v4 ? "/proc/net/tcp" : "/proc/net/tcp6", "re");
  if (file == nullptr) return Status(kErrNotSupported);
  const std::string local = Printed(peer);
  const std::string remote = Printed(own);
  Result<SocketOwner> result = Status(kErrNotFound);
  char line[512];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    char a[64];
    char b[64];
    unsigned uid = 0;
    uint64_t inode = 0;
    const int n = std::sscanf(
        line, " %*d: %63s %63s %*x %*x:%*x %*x:%*x %*x %u %*d %" SCNu64, a, b,
        &uid, &inode);
    if (n == 4 && inode != 0 && local == a && remote == b) {
      result = SocketOwner{uid, inode};
      break;
    }
  }
  std::fclose(file);
  return result;
}

// Returns one end of a socket. An address mapped from IPv4 is searched as an
// IPv4 address.
std::optional<Endpoint> EndOf(int fd, int (*name)(int, sockaddr*, socklen_t*)) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  if (name(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return std::nullopt;
  }
  return ToEndpoint(Unmapped(address));
}

}  // namespace

SocketOwners::SocketOwners()
    : diag_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)) {}

Result<SocketOwner> SocketOwners::OwnerOf(int fd) const {
  const auto theirs = EndOf(fd, getpeername);
  const auto ours = EndOf(fd, getsockname);
  if (!theirs || !ours) return Status(kErrNotFound, "no TCP connection");
  if (diag_) {
    Result<SocketOwner> owner = AskSockDiag(diag_.get(), *theirs, *ours);
    if (owner.code() != kErrNotSupported) return owner;
  }
  return SearchProcNet(*theirs, *ours);
}

}  // namespace canopy::net
