#include "server/agent/persistence/agent_state.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "common/posix/unique_fd.h"
#include "common/posix/unix_socket.h"

namespace canopy::agent {
namespace {

constexpr off_t kMaxSize = 64 << 20;

std::string PathIn(const std::string& directory) {
  return directory + "/agent.state";
}

Status Failed(const std::string& what, const std::string& path) {
  return Status(errno == ENOENT ? kErrNotFound : kErrJobSysOpFailed,
                "cannot " + what + " " + path + ": " + std::strerror(errno));
}

bool WriteAll(int fd, const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = write(fd, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += static_cast<size_t>(n);
  }
  return true;
}

}  // namespace

Status SaveState(const std::string& directory,
                 const bootstrap::v1::AgentState& state) {
  const std::string path = PathIn(directory);
  const std::string temporary = path + ".new";
  unlink(temporary.c_str());
  const UniqueFd fd(open(temporary.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                         0600));
  if (!fd) return Failed("make", temporary);
  if (!WriteAll(fd.get(), state.SerializeAsString()) ||
      rename(temporary.c_str(), path.c_str()) != 0) {
    Status status = Failed("write", path);
    unlink(temporary.c_str());
    return status;
  }
  return Status();
}

Result<bootstrap::v1::AgentState> LoadState(const std::string& directory) {
  const std::string path = PathIn(directory);
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return Failed("read", path);
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return Failed("read", path);
  if (info.st_uid != geteuid() || (info.st_mode & 077) != 0) {
    return Status(kErrNoPermissions, path + " is not private to this user");
  }
  std::string text(static_cast<size_t>(std::min(info.st_size, kMaxSize)), 0);
  size_t have = 0;
  while (have < text.size()) {
    const ssize_t n = read(fd.get(), text.data() + have, text.size() - have);
    if (n <= 0) break;
    have += static_cast<size_t>(n);
  }
  bootstrap::v1::AgentState state;
  if (have < text.size() || text.empty() || !state.ParseFromString(text) ||
      state.config().member_names_size() != state.members().nodes_size()) {
    return Status(kErrUnpackFailure, path + " is damaged");
  }
  return state;
}

void RemoveState(const std::string& directory) {
  unlink(PathIn(directory).c_str());
}

bool IsServed(const std::string& directory, int timeout_ms) {
  for (;;) {
    const auto socket = ConnectUnix(directory + "/clients.sock");
    if (!socket.ok()) return false;
    pollfd entry = {socket->get(), POLLRDHUP, 0};
    if (poll(&entry, 1, timeout_ms) == 0) return true;
  }
}

}  // namespace canopy::agent
