#include "client/cli/agents/overlay_end.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "client/cli/agents/agent_end.h"
#include "client/cli/agents/delivery_tracker.h"
#include "client/cli/control/context_target.h"
#include "client/cli/control/member_positions.h"
#include "common/string_util.h"

namespace canopy::cli {
namespace {

using Clock = std::chrono::steady_clock;

// The time for which the end of agents is awaited before the next step: a
// repetition of the command, then SIGKILL (with `force`), then an error.
constexpr auto kAgentEnd = std::chrono::seconds(5);
constexpr int kConnectMs = 1000;
// Total time for sending the command to members to which no other member
// forwards it.
constexpr auto kLookFor = std::chrono::seconds(10);

enum class Told { kYes, kNobody, kNoAnswer };

// Sends the command to one member. Returns kNobody if it is certain that no
// agent runs at that member.
Result<Told> Tell(const v1::Context& context, int member, bool force) {
  const ControlTarget target = TargetOf(context, member);
  if (target.address.empty()) return Told::kNobody;
  Result<ControlClient> client = ControlClient::Connect(target, kConnectMs);
  if (!client.ok()) {
    return target.address.starts_with("unix:") ? Told::kNobody
                                               : Told::kNoAnswer;
  }
  const Status status = client->Shutdown(force);
  // The agent may end before its answer arrives.
  if (status.ok() || status.code() == kErrUnreach) return Told::kYes;
  return Status(status.code(), "node '" + context.members(member).name() +
                                   "': " + status.message());
}

// Sends the command to the members that `delivery` does not contain.
Status TellOthers(const v1::Context& context, bool force,
                  DeliveryTracker* delivery, OverlayEnd* end) {
  const auto deadline = Clock::now() + kLookFor;
  for (int i = 0; i < context.members_size(); ++i) {
    if (delivery->Has(i)) continue;
    Result<Told> answer = Told::kNoAnswer;
    if (Clock::now() < deadline) answer = Tell(context, i, force);
    if (!answer.ok()) return answer.status();
    if (*answer == Told::kYes) {
      delivery->Add(i);
      end->reached = true;
    } else if (*answer == Told::kNoAnswer && !delivery->MayHave(i)) {
      end->silent.push_back(context.members(i).name());
    }
  }
  return Status();
}

// Returns the status with positions in the context in place of the members'
// numbers, without nodes that the context does not have.
control::v1::StatusReply ByPosition(const v1::Context& context,
                                    const control::v1::StatusReply& status) {
  const MemberPositions positions(context);
  std::map<int64_t, int64_t> by_number = {{-1, -1}};
  for (const auto& node : status.nodes()) {
    const std::optional<int> known = positions.Of(node);
    if (known) by_number[node.node()] = *known;
  }
  control::v1::StatusReply out;
  for (const auto& node : status.nodes()) {
    const auto parent = by_number.find(node.parent());
    if (!by_number.contains(node.node()) || parent == by_number.end()) continue;
    auto* const moved = out.add_nodes();
    *moved = node;
    moved->set_node(static_cast<uint32_t>(by_number[node.node()]));
    moved->set_parent(parent->second);
  }
  return out;
}

using AgentsLeft = std::vector<const LocalAgent*>;

Status WaitForAgentsHere(const v1::Context& context,
                         const std::vector<LocalAgent>& agents, bool force) {
  AgentsLeft left = AwaitEnds(PointersTo(agents), kAgentEnd);
  if (left.empty()) return Status();
  for (int i = 0; i < context.members_size(); ++i) {
    if (TargetOf(context, i).address.starts_with("unix:")) {
      (void)Tell(context, i, force);
    }
  }
  left = AwaitEnds(left, kAgentEnd);
  for (const LocalAgent* agent : left) {
    if (force) agent->Kill();
  }
  if (force) left = AwaitEnds(left, kAgentEnd);
  if (left.empty()) return Status();
  std::vector<std::string> names;
  for (const LocalAgent* agent : left) names.push_back(agent->node());
  return Status(kErrTimeout,
                "the agents of " + Join(names, ", ") +
                    " do not end; 'canopy down --force --context " +
                    context.name() + "' kills them");
}

}  // namespace

Result<OverlayEnd> EndOverlay(const v1::Context& context, bool force) {
  const std::vector<LocalAgent> agents = LocalAgent::Of(context);
  OverlayEnd end;
  end.reached = !agents.empty();
  DeliveryTracker delivery(context.members_size());
  if (Result<RootAgent> first = ConnectRoot(context); first.ok()) {
    const auto status = first->client.GetStatus(/*ask_all=*/true);
    Status answer = first->client.Shutdown(force);
    if (!answer.ok() && answer.code() != kErrUnreach) return answer;
    end.reached = true;
    delivery.Add(first->member);
    if (status.ok()) {
      delivery.AddBelow(ByPosition(context, *status), first->member);
    }
  }
  Status status = TellOthers(context, force, &delivery, &end);
  if (status.ok()) status = WaitForAgentsHere(context, agents, force);
  if (!status.ok()) return status;
  return end;
}

}  // namespace canopy::cli
