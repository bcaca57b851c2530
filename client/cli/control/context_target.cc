#include "client/cli/control/context_target.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "client/cli/base/this_machine.h"
#include "server/security/credentials.h"

namespace canopy::cli {
namespace {

constexpr int kConnectMs = 3000;
constexpr int kMaxTries = 16;
// The time that the remaining agents need to declare a root lost, and the
// interval at which they are polled meanwhile.
constexpr auto kSuccessionTime = std::chrono::seconds(15);
constexpr auto kSuccessionPoll = std::chrono::milliseconds(50);

bool IsOwnSocket(const std::string& path) {
  struct stat info;
  return !path.empty() && stat(path.c_str(), &info) == 0 &&
         S_ISSOCK(info.st_mode) && info.st_uid == geteuid();
}

ControlTarget WithCredentials(const v1::Context& context, std::string address) {
  ControlTarget target;
  target.address = std::move(address);
  target.security = context.security();
  target.cluster_key = context.cluster_key();
  target.tls_ca = context.tls_ca();
  target.tls_cert = context.tls_cert();
  target.tls_key = context.tls_key();
  return target;
}

}  // namespace

ControlTarget TargetOf(const v1::Context& context, int member) {
  const auto& node = context.members(member);
  // On a shared file system, the socket of another machine's agent may be
  // visible here.
  const bool here = node.machine().empty() || IsThisMachineNow(node.machine());
  if (!here || !IsOwnSocket(node.control_socket())) {
    return NetworkTargetOf(context, member);
  }
  return WithCredentials(context, "unix:" + node.control_socket());
}

// A loopback address without the agent's socket belongs to another program.
ControlTarget NetworkTargetOf(const v1::Context& context, int member) {
  const auto& node = context.members(member);
  const bool is_other = security::IsLocalAddress(node.address()) &&
                        !IsOwnSocket(node.control_socket());
  return WithCredentials(context, is_other ? "" : node.control_address());
}

Result<RootAgent> ConnectRoot(const v1::Context& context) {
  Status first(kErrUnreach, "their sockets are gone");
  int tried = 0;
  for (int i = 0; i < context.members_size() && tried < kMaxTries; ++i) {
    ControlTarget target = TargetOf(context, i);
    if (target.address.empty()) continue;
    Result<ControlClient> client = ControlClient::Connect(target, kConnectMs);
    if (client.ok()) {
      return RootAgent{std::move(target), *std::move(client), i};
    }
    if (tried++ == 0) first = client.status();
  }
  if (first.code() == kErrInvalidCred) {
    return Status(first.code(),
                  "context '" + context.name() +
                      "' does not fit its overlay: " + first.message());
  }
  if (first.code() == kErrNotSupported) return first;
  return Status(kErrUnreach, "no agent of context '" + context.name() +
                                 "' answers (" + first.message() +
                                 "); 'canopy down --context " + context.name() +
                                 "' removes it");
}

namespace {

// Replaces `*agent` by an earlier member that answers now.
void TakeEarlier(const v1::Context& context, RootAgent* agent) {
  for (int i = 0; i < agent->member && i < kMaxTries; ++i) {
    ControlTarget target = TargetOf(context, i);
    if (target.address.empty()) continue;
    Result<ControlClient> client =
        ControlClient::Connect(target, kSuccessionPoll.count());
    if (!client.ok()) continue;
    *agent = {std::move(target), *std::move(client), i};
    return;
  }
}

}  // namespace

Status WaitUntilRoot(const v1::Context& context, RootAgent* agent) {
  const auto deadline = std::chrono::steady_clock::now() + kSuccessionTime;
  while (agent->member > 0) {
    Result<control::v1::StatusReply> reply = agent->client.GetStatus();
    if (!reply.ok()) return reply.status();
    if (agent->member < reply->nodes_size() &&
        reply->nodes(agent->member).parent() < 0) {
      break;
    }
    if (std::chrono::steady_clock::now() > deadline) {
      return Status(kErrUnreach,
                    "agent " + context.members(0).name() +
                        ", where jobs are launched, does not answer, but the "
                        "others can reach it; is there a way to it from here?");
    }
    std::this_thread::sleep_for(kSuccessionPoll);
    TakeEarlier(context, agent);
  }
  return Status();
}

}  // namespace canopy::cli
