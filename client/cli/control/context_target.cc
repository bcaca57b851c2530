#include "client/cli/control/context_target.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "client/cli/base/this_machine.h"
#include "client/cli/control/member_positions.h"
#include "common/user_calls.h"
#include "server/security/credentials.h"

namespace canopy::cli {
namespace {

constexpr int kConnectMs = 3000;
constexpr int kMaxTries = 16;
// The time for which the remaining agents are polled until they have declared a
// root lost, and the interval between two polls.
constexpr auto kSuccessionTime = std::chrono::seconds(15);
constexpr auto kSuccessionPoll = std::chrono::milliseconds(50);

bool IsOwnSocket(const std::string& path) {
  struct stat info;
  return !path.empty() && stat(path.c_str(), &info) == 0 &&
         S_ISSOCK(info.st_mode) && info.st_uid == geteuid();
}

bool IsSocket(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode);
}

// Returns the socket for all users of an agent on this machine, or an empty
// text if there is none.
std::string UsersSocket(const v1::Context& context) {
  for (const auto& member : context.members()) {
    std::string path = UsersSocketIn(member.runtime_dir());
    if (IsSocket(path)) return path;
  }
  return "";
}

ControlTarget ThroughAgent(const v1::Context& context, int member) {
  ControlTarget target;
  const std::string socket = UsersSocket(context);
  if (!socket.empty()) target.address = "unix:" + socket;
  target.member = context.members(member).name();
  return target;
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
  if (context.through_agent()) return ThroughAgent(context, member);
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

namespace {

Result<RootAgent> Connect(const v1::Context& context, int member) {
  ControlTarget target = TargetOf(context, member);
  if (target.address.empty()) return Status(kErrUnreach, "it has no address");
  Result<ControlClient> client = ControlClient::Connect(target, kConnectMs);
  if (!client.ok()) return client.status();
  return RootAgent{std::move(target), *std::move(client), member};
}

// Returns the number in the context of the member that `agent` considers to be
// the leader, or no value if it is not in the context.
std::optional<int> LeaderIn(const v1::Context& context,
                            const control::v1::StatusReply& reply) {
  const auto leader =
      std::ranges::find_if(reply.nodes(), &control::v1::NodeStatus::leader);
  if (leader == reply.nodes().end()) return std::nullopt;
  return MemberPositions(context).Of(*leader);
}

std::optional<int> LeaderAsSeenBy(const v1::Context& context,
                                  RootAgent* agent) {
  const Result<control::v1::StatusReply> reply = agent->client.GetStatus();
  return reply.ok() ? LeaderIn(context, *reply) : std::nullopt;
}

bool IsHere(const v1::Context& context, const bootstrap::v1::NodeInfo& member) {
  return context.through_agent() ? IsSocket(UsersSocketIn(member.runtime_dir()))
                                 : IsOwnSocket(member.control_socket());
}

// In a cluster, any of the first members may be down for a long time, and the
// agent of this machine knows which one is the leader.
Result<RootAgent> AskAgentHere(const v1::Context& context) {
  for (int i = 0; i < context.members_size(); ++i) {
    if (!IsHere(context, context.members(i))) continue;
    Result<RootAgent> here = Connect(context, i);
    if (!here.ok()) continue;
    const std::optional<int> leader = LeaderAsSeenBy(context, &*here);
    if (leader == i) return here;
    if (leader) return Connect(context, *leader);
  }
  return Status(kErrUnreach, "no agent of this machine answers");
}

// Returns a connection to the agent that the first agent considers to be the
// leader. If there is no way to it from here, returns the first agent, which
// serves all requests but those of a leader.
RootAgent FollowLeader(const v1::Context& context, RootAgent first) {
  const std::optional<int> leader = LeaderAsSeenBy(context, &first);
  if (!leader || *leader == first.member) return first;
  Result<RootAgent> there = Connect(context, *leader);
  return there.ok() ? *std::move(there) : std::move(first);
}

}  // namespace

Result<RootAgent> ConnectRoot(const v1::Context& context) {
  if (!context.cluster_file().empty()) {
    Result<RootAgent> root = AskAgentHere(context);
    if (root.ok()) return root;
  }
  Status first(kErrUnreach, "their sockets are gone");
  int tried = 0;
  for (int i = 0; i < context.members_size() && tried < kMaxTries; ++i) {
    ControlTarget target = TargetOf(context, i);
    if (target.address.empty()) continue;
    Result<ControlClient> client = ControlClient::Connect(target, kConnectMs);
    if (client.ok()) {
      return FollowLeader(context,
                          RootAgent{std::move(target), *std::move(client), i});
    }
    if (tried++ == 0) first = client.status();
  }
  if (first.code() == kErrInvalidCred) {
    return Status(first.code(),
                  "context '" + context.name() +
                      "' does not fit its overlay: " + first.message());
  }
  if (first.code() == kErrNotSupported) return first;
  if (!context.cluster_file().empty()) {
    return Status(kErrUnreach, "no agent of the cluster in " +
                                   context.cluster_file() + " answers (" +
                                   first.message() + ")");
  }
  return Status(kErrUnreach, "no agent of context '" + context.name() +
                                 "' answers (" + first.message() +
                                 "); 'canopy down --context " + context.name() +
                                 "' removes it");
}

Result<RootAgent> ConnectMember(const v1::Context& context,
                                const std::string& name) {
  for (int i = 0; i < context.members_size(); ++i) {
    if (context.members(i).name() == name) return Connect(context, i);
  }
  return Status(kErrUnreach,
                "node " + name + " is not in context '" + context.name() + "'");
}

namespace {

// Replaces `*agent` by the member that it considers to be the leader, or by an
// earlier member, if that member answers now.
void TakeBetter(const v1::Context& context, std::optional<int> leader,
                RootAgent* agent) {
  if (leader) {
    Result<RootAgent> there = Connect(context, *leader);
    if (there.ok()) {
      *agent = *std::move(there);
      return;
    }
  }
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
  while (true) {
    Result<control::v1::StatusReply> reply = agent->client.GetStatus();
    if (!reply.ok()) return reply.status();
    const std::optional<int> leader = LeaderIn(context, *reply);
    if (leader == agent->member) return Status();
    if (std::chrono::steady_clock::now() > deadline) {
      return Status(kErrUnreach,
                    "agent " + context.members(leader.value_or(0)).name() +
                        ", where jobs are launched, does not answer, but the "
                        "others can reach it; is there a way to it from here?");
    }
    std::this_thread::sleep_for(kSuccessionPoll);
    TakeBetter(context, leader, agent);
  }
}

}  // namespace canopy::cli
