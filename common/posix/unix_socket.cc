#include "common/posix/unix_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "common/posix/open_directory.h"

namespace canopy {
namespace {

// Missing in C libraries older than the kernel feature.
constexpr int kPeerPidfd = 77;  // SO_PEERPIDFD

bool FillAddress(const std::string& path, sockaddr_un* address) {
  std::memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address->sun_path) return false;
  std::memcpy(address->sun_path, path.data(), path.size());
  return true;
}

Status SystemError(const std::string& path, const char* what) {
  return Status(kErrUnreach,
                "socket " + path + ": " + what + ": " + std::strerror(errno));
}

const sockaddr* Generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

Result<ucred> GetUcred(int fd) {
  ucred cred{};
  socklen_t size = sizeof cred;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) != 0) {
    return Status(kErrInvalidCred, "peer without credentials");
  }
  return cred;
}

}  // namespace

Result<UniqueFd> ListenUnix(const std::string& path, int backlog, mode_t mode) {
  const std::string temporary = path + "." + std::to_string(getpid());
  sockaddr_un address;
  if (!FillAddress(temporary, &address)) {
    return Status(kErrBadParam, "socket " + path +
                                    ": path too long; choose a shorter "
                                    "runtime directory");
  }
  const SplitPath last = SplitLast(path);
  const std::string draft = SplitLast(temporary).name;
  const UniqueFd directory(
      open(last.directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!directory || !fd) return SystemError(path, "socket");
  // An earlier process with the same PID may have left a socket with this name.
  unlinkat(directory.get(), draft.c_str(), 0);
  if (bind(fd.get(), Generic(address), sizeof address) != 0) {
    return SystemError(path, "bind");
  }
  // Before the socket listens, no process can connect, even if its mode allows
  // it.
  if (fchmodat(directory.get(), draft.c_str(), mode, 0) != 0 ||
      listen(fd.get(), backlog) != 0 ||
      renameat(directory.get(), draft.c_str(), directory.get(),
               last.name.c_str()) != 0) {
    Status status = SystemError(path, "listen");
    unlinkat(directory.get(), draft.c_str(), 0);
    return status;
  }
  return fd;
}

Result<UniqueFd> ConnectUnix(const std::string& path) {
  sockaddr_un address;
  if (!FillAddress(path, &address)) {
    return Status(kErrBadParam, "socket " + path + ": path too long");
  }
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return SystemError(path, "socket");
  int rc;
  do {
    rc = connect(fd.get(), Generic(address), sizeof address);
  } while (rc != 0 && errno == EINTR);
  if (rc != 0) return SystemError(path, "connect");
  return fd;
}

Result<PeerCredentials> GetPeerCredentials(int fd) {
  const Result<ucred> cred = GetUcred(fd);
  if (!cred.ok()) return cred.status();
  PeerCredentials peer;
  peer.uid = cred->uid;
  peer.gid = cred->gid;
  peer.pid = cred->pid;
  int pidfd = -1;
  socklen_t size = sizeof pidfd;
  if (getsockopt(fd, SOL_SOCKET, kPeerPidfd, &pidfd, &size) == 0) {
    peer.pidfd.Reset(pidfd);
    fcntl(pidfd, F_SETFD, FD_CLOEXEC);
  }
  return peer;
}

Result<uid_t> GetPeerUser(int fd) {
  const Result<ucred> cred = GetUcred(fd);
  if (!cred.ok()) return cred.status();
  return cred->uid;
}

bool IsAlive(const UniqueFd& pidfd) {
  if (!pidfd) return true;
  pollfd p{pidfd.get(), POLLIN, 0};
  return poll(&p, 1, 0) == 0;
}

}  // namespace canopy
