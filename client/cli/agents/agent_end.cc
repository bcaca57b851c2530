#include "client/cli/agents/agent_end.h"

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <utility>

#include "common/posix/unix_socket.h"

namespace canopy::cli {
namespace {

// A PID may have been reused since it was recorded. The process counts as the
// agent only if it and the runtime directory belong to this user and its name
// is canopyd.
bool IsAgentHere(const bootstrap::v1::NodeInfo& node, pid_t pid) {
  struct stat info;
  if (stat(node.runtime_dir().c_str(), &info) != 0 ||
      info.st_uid != geteuid()) {
    return false;
  }
  const std::string proc = "/proc/" + std::to_string(pid);
  if (stat(proc.c_str(), &info) != 0 || info.st_uid != geteuid()) return false;
  std::string name;
  std::ifstream(proc + "/comm") >> name;
  return name == "canopyd";
}

// Returns the PID of the process that listens on `socket`, or 0.
pid_t ServingAt(const std::string& socket) {
  if (socket.empty()) return 0;
  const Result<UniqueFd> connection = ConnectUnix(socket);
  if (!connection.ok()) return 0;
  const Result<PeerCredentials> peer = GetPeerCredentials(connection->get());
  return peer.ok() ? peer->pid : 0;
}

}  // namespace

std::vector<LocalAgent> LocalAgent::Of(const v1::Context& context) {
  std::vector<LocalAgent> agents;
  for (const auto& node : context.members()) {
    const auto noted = static_cast<pid_t>(node.pid());
    const pid_t serving = ServingAt(node.control_socket());
    Pin(node, noted, &agents);
    if (serving != noted) Pin(node, serving, &agents);
  }
  return agents;
}

void LocalAgent::Pin(const bootstrap::v1::NodeInfo& node, pid_t pid,
                     std::vector<LocalAgent>* agents) {
  if (pid <= 1) return;
  UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  // The check follows pidfd_open, so that it applies to the process of `fd`.
  if (fd && IsAgentHere(node, pid)) {
    agents->push_back(LocalAgent(node.name(), std::move(fd)));
  }
}

LocalAgent::LocalAgent(std::string node, UniqueFd pid_fd)
    : node_(std::move(node)), pid_fd_(std::move(pid_fd)) {}

bool LocalAgent::WaitEnd(int timeout_ms) const {
  pollfd wait{pid_fd_.get(), POLLIN, 0};
  return poll(&wait, 1, timeout_ms) > 0;
}

void LocalAgent::Kill() const {
  syscall(SYS_pidfd_send_signal, pid_fd_.get(), SIGKILL, nullptr, 0);
}

std::vector<const LocalAgent*> AwaitEnds(
    const std::vector<const LocalAgent*>& agents,
    std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  std::vector<const LocalAgent*> left;
  for (const LocalAgent* agent : agents) {
    const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (!agent->WaitEnd(static_cast<int>(std::max<int64_t>(rest.count(), 0)))) {
      left.push_back(agent);
    }
  }
  return left;
}

std::vector<const LocalAgent*> PointersTo(
    const std::vector<LocalAgent>& agents) {
  std::vector<const LocalAgent*> out;
  for (const LocalAgent& agent : agents) out.push_back(&agent);
  return out;
}

}  // namespace canopy::cli
