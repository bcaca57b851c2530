#include "server/kubernetes/identity/peer_pod.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "common/posix/unix_socket.h"
#include "common/string_util.h"
#include "server/kubernetes/identity/cgroup_pod.h"

namespace canopy::kubernetes {
namespace {

// Missing in C libraries that are older than the kernel's feature.
#ifdef SO_PEERPIDFD
constexpr int kPeerPidfd = SO_PEERPIDFD;
#else
constexpr int kPeerPidfd = 77;
#endif

// The entry of a pidfd has five short lines.
constexpr size_t kMaxFdInfo = 4096;

Status Ended() {
  return Status(kErrLostConnection,
                "the process that made the connection has ended");
}

// Reads the file up to its end. kErrNotFound: it cannot be read;
// kErrOutOfResource: it is larger than `max`.
Result<std::string> ReadFile(const std::string& path, size_t max) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(max + 1, '\0');
  size_t size = 0;
  ssize_t n = fd ? 1 : -1;
  while (n > 0 && size < text.size()) {
    n = read(fd.get(), text.data() + size, text.size() - size);
    if (n > 0) size += static_cast<size_t>(n);
  }
  if (n < 0) {
    return Status(kErrNotFound, path + ": " + std::strerror(errno));
  }
  if (size > max) return Status(kErrOutOfResource, path + " is too large");
  text.resize(size);
  return text;
}

// Opens the process whose number the kernel has for the connection.
Result<UniqueFd> OpenByNumber(int socket) {
  const Result<PeerCredentials> peer = GetPeerCredentials(socket);
  if (!peer.ok()) return peer.status();
  if (peer->pid <= 0) {
    return Status(kErrNotFound,
                  "the process is in no PID namespace of this one");
  }
  UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, peer->pid, 0)));
  if (!pidfd) return Ended();
  return pidfd;
}

Result<UniqueFd> OpenPeer(int socket, bool numbers_are_ours) {
  int pidfd = -1;
  socklen_t size = sizeof pidfd;
  if (getsockopt(socket, SOL_SOCKET, kPeerPidfd, &pidfd, &size) == 0) {
    fcntl(pidfd, F_SETFD, FD_CLOEXEC);
    return UniqueFd(pidfd);
  }
  if (errno == ESRCH || errno == EINVAL) return Ended();
  if (errno != ENOPROTOOPT) {
    return Status(kErrInvalidCred, std::string("the kernel does not name the "
                                               "process of a connection: ") +
                                       std::strerror(errno));
  }
  if (numbers_are_ours) return OpenByNumber(socket);
  return Status(kErrNotSupported,
                "pods cannot be identified by a kernel before 6.5, unless the "
                "agent has the PID namespace of the host (hostPID: true)");
}

// Returns the value of the line "Pid:" of the entry; empty if there is none.
std::string_view PidLine(std::string_view fdinfo) {
  constexpr std::string_view kName = "Pid:";
  for (const std::string_view line : WordsOf(fdinfo, "\n")) {
    if (line.starts_with(kName)) return Trim(line.substr(kName.size()));
  }
  return "";
}

// Returns the number of the process in the PID namespace of `proc`, whose entry
// "self" is that of this process.
Result<int> NumberIn(const std::string& proc, int pidfd) {
  const std::string path = proc + "/self/fdinfo/" + std::to_string(pidfd);
  const Result<std::string> fdinfo = ReadFile(path, kMaxFdInfo);
  if (!fdinfo.ok()) return fdinfo.status();
  const std::string_view text = PidLine(*fdinfo);
  if (text == "-1") return Ended();
  const std::optional<uint32_t> pid = ParseNumber(text, INT_MAX);
  if (!pid) return Status(kErrNotFound, path + " names no process");
  if (*pid == 0) {
    return Status(kErrNotFound, proc +
                                    " does not show the process that made the "
                                    "connection: it must be the procfs of the "
                                    "host");
  }
  return static_cast<int>(*pid);
}

}  // namespace

Result<PeerPod> PeerPods::Identify(int socket) const {
  Result<UniqueFd> pidfd = OpenPeer(socket, proc_ == "/proc");
  if (!pidfd.ok()) return pidfd.status();
  const Result<int> pid = NumberIn(proc_, pidfd->get());
  if (!pid.ok()) return pid.status();
  const std::string path = proc_ + "/" + std::to_string(*pid) + "/cgroup";
  const Result<std::string> cgroup = ReadFile(path, kMaxCgroupFile);
  // While the process is alive, its number is not another's.
  if (!IsAlive(*pidfd)) return Ended();
  if (!cgroup.ok()) return cgroup.status();
  std::optional<CgroupPod> pod = FindPod(*cgroup);
  if (!pod) {
    return Status(kErrNoPermissions,
                  "process " + std::to_string(*pid) + " belongs to no pod");
  }
  return PeerPod{std::move(pod->pod_uid), std::move(pod->container_id), *pid,
                 *std::move(pidfd)};
}

}  // namespace canopy::kubernetes
