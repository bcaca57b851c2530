#include "client/cli/agent_end.h"

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <utility>

namespace canopy::cli {
namespace {

// The agent's lock on its number: a private socket of this user and a process
// of this user with the agent's name.
bool IsAgentHere(const bootstrap::v1::NodeInfo& node) {
  struct stat info;
  if (stat(node.runtime_dir().c_str(), &info) != 0 ||
      info.st_uid != geteuid()) {
    return false;
  }
  const std::string proc = "/proc/" + std::to_string(node.pid());
  if (stat(proc.c_str(), &info) != 0 || info.st_uid != geteuid()) return false;
  std::string name;
  std::ifstream(proc + "/comm") >> name;
  return name == "canopyd";
}

}  // namespace

std::vector<LocalAgent> LocalAgent::Of(const v1::Context& context) {
  std::vector<LocalAgent> agents;
  for (const auto& node : context.members()) {
    const auto pid = static_cast<pid_t>(node.pid());
    if (pid <= 1) continue;
    const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    if (fd < 0) continue;
    // Checked after it is pinned.
    if (!IsAgentHere(node)) {
      close(fd);
      continue;
    }
    agents.push_back(LocalAgent(node.name(), fd));
  }
  return agents;
}

LocalAgent::LocalAgent(std::string node, int pid_fd)
    : node_(std::move(node)), pid_fd_(pid_fd) {}

LocalAgent::LocalAgent(LocalAgent&& other) noexcept
    : node_(std::move(other.node_)),
      pid_fd_(std::exchange(other.pid_fd_, -1)) {}

LocalAgent::~LocalAgent() {
  if (pid_fd_ >= 0) close(pid_fd_);
}

bool LocalAgent::WaitEnd(int timeout_ms) const {
  pollfd wait{pid_fd_, POLLIN, 0};
  return poll(&wait, 1, timeout_ms) > 0;
}

void LocalAgent::Kill() const {
  syscall(SYS_pidfd_send_signal, pid_fd_, SIGKILL, nullptr, 0);
}

}  // namespace canopy::cli
