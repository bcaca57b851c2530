#include "server/process/shim_fds.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

namespace canopy::process {
namespace {

// The number of releases that are sent to the shim in one batch.
constexpr size_t kReleaseAtOnce = 64;

// Returns the limit of connections that a shim holds. The shim has the same
// limit of descriptors as this process, and also needs descriptors for the
// pipes of its processes.
size_t MostConnections() {
  static const size_t most = [] {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    return std::min<size_t>(limit.rlim_max / 2, kMaxConnections);
  }();
  return most;
}

// Sends as many of the last connections as fit into one frame.
void SendSome(FrameChannel* channel, std::vector<NamedFd>* connections) {
  std::vector<std::string> names;
  std::vector<UniqueFd> fds;
  while (!connections->empty() && fds.size() < kMaxFrameFds) {
    names.push_back(std::move(connections->back().name));
    fds.push_back(std::move(connections->back().fd));
    connections->pop_back();
  }
  channel->Send(FrameType::kHoldMany, EncodeNames(names), Bytes(),
                std::move(fds));
}

}  // namespace

void ShimFds::Hold(FrameChannel* channel, const std::string& name,
                   UniqueFd fd) {
  std::vector<UniqueFd> fds;
  fds.push_back(std::move(fd));
  channel->Send(FrameType::kHold, EncodeName(name), Bytes(), std::move(fds));
  channel->Flush();
}

bool ShimFds::HoldConnections(FrameChannel* channel,
                              std::vector<NamedFd> connections) {
  const bool open = std::ranges::all_of(
      connections, [](const NamedFd& held) { return bool{held.fd}; });
  if (!open) return false;
  // Releases are sent first, because the names of released connections may be
  // used again for these.
  SendReleases(channel);
  if (num_connections_ + connections.size() > MostConnections()) return false;
  num_connections_ += connections.size();
  while (!connections.empty()) SendSome(channel, &connections);
  channel->Flush();
  return true;
}

void ShimFds::ReleaseConnection(FrameChannel* channel, const std::string& name,
                                bool at_once) {
  to_release_.push_back(name);
  if (at_once || to_release_.size() >= kReleaseAtOnce) SendReleases(channel);
}

void ShimFds::SendReleases(FrameChannel* channel) {
  if (!to_release_.empty()) {
    num_connections_ -= std::min(num_connections_, to_release_.size());
    channel->Send(FrameType::kRelease,
                  EncodeNames(std::exchange(to_release_, {})));
  }
  channel->Flush();
}

bool ShimFds::AddFoundConnections(std::vector<std::string> names,
                                  std::vector<UniqueFd> fds) {
  num_connections_ += names.size();
  return AddFound(std::move(names), std::move(fds));
}

bool ShimFds::AddFound(std::vector<std::string> names,
                       std::vector<UniqueFd> fds) {
  if (names.size() != fds.size()) return false;
  for (size_t i = 0; i < names.size(); ++i) {
    found_.push_back({std::move(names[i]), std::move(fds[i])});
  }
  return true;
}

std::vector<NamedFd> ShimFds::TakeFound() { return std::exchange(found_, {}); }

}  // namespace canopy::process
