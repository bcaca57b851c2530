#include "tests/sim/agents.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "tests/sim/trace.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

template <typename T, typename... Others>
constexpr bool kIsOneOf = (std::is_same_v<T, Others> || ...);

// Returns false for actions that need no simulation: processes leave no commits
// in shared memory, launchers acknowledge output at once, no monitors exist, no
// agent maps jobs, and agents do not end.
template <typename Action>
constexpr bool IsSimulated() {
  return !kIsOneOf<Action, AwaitCommit, JobHeld, ToolGone, JobElsewhere,
                   OutputDelivered, EndAgent>;
}

template <typename Action, typename StandIn>
constexpr bool Executes() {
  return requires(StandIn & s, NodeId node, Action & a) { s.On(node, a); };
}

}  // namespace

Agents::Agents(uint32_t radix, const Settings& settings, EventQueue& queue,
               Membership& members, Network& network, Oracle& oracle,
               Errors& errors, StandIns stand_ins)
    : radix_(radix),
      settings_(settings),
      queue_(queue),
      members_(members),
      network_(network),
      oracle_(oracle),
      errors_(errors),
      stand_ins_(stand_ins),
      cores_(members.size()) {
  for (NodeId node = 0; node < members.size(); ++node) Start(node);
}

void Agents::Start(NodeId node) {
  CoreConfig config;
  config.self = node;
  config.radix = radix_;
  config.persists = settings_.persists;
  config.began_at = queue_.now();
  for (NodeId n = 0; n < members_.size(); ++n) {
    config.node_names.push_back(members_.name(n));
  }
  queue_.SetDeadline(node, kNever);
  cores_.resize(std::max<size_t>(cores_.size(), node + 1));
  cores_[node] = std::make_unique<AgentCore>(std::move(config));
}

void Agents::Stop(NodeId node) {
  queue_.SetDeadline(node, kNever);
  cores_[node].reset();
}

// ----------------------------------------------------------------- events ---

void Agents::Deliver(Event event) {
  std::visit([this](auto& e) { On(e); }, event);
}

void Agents::On(LocalInput& event) {
  if (!members_.alive(event.node)) return;
  if (members_.start(event.node) != event.start) return;
  Step(event.node, std::move(event.input));
}

void Agents::On(InTransit& event) {
  if (!network_.Delivers(event)) return;
  const NodeId node = event.message.dst;
  for (const MemberUpdate& update : members_.UpdatesAhead(event)) {
    Apply(node, update);
  }
  std::get<Observations&>(stand_ins_)
      .CountMessage(node, event.message.body.index());
  Step(node, PeerArrived{std::move(event.message)});
}

void Agents::On(UpdateDelivery& event) {
  if (!members_.alive(event.observer)) return;
  if (members_.start(event.observer) != event.start) return;
  Apply(event.observer, event.update);
}

void Agents::On(DeadlineReached& event) { Step(event.node, Tick{}); }

void Agents::Apply(NodeId observer, const MemberUpdate& update) {
  for (Input& input : members_.Apply(observer, update)) {
    Step(observer, std::move(input));
  }
}

// ------------------------------------------------------------------ steps ---

void Agents::Step(NodeId node, Input input) {
  const std::string what =
      settings_.options.trace ? Show(input) : std::string();
  if (settings_.hooks.on_input) settings_.hooks.on_input(node, input);
  Actions actions = cores_[node]->Step(queue_.now(), std::move(input));
  if (settings_.options.trace) PrintStep(queue_.now(), node, what, actions);
  if (settings_.options.one_release_a_step) CheckOrder(actions);
  if (settings_.hooks.on_actions) settings_.hooks.on_actions(node, actions);
  for (Action& action : actions) {
    const auto* kill = std::get_if<KillLocal>(&action);
    if (kill != nullptr && kill->ranks.empty()) {
      oracle_.OnKill(node, kill->nspace);
    }
    std::visit([&](auto& a) { Execute(node, a); }, action);
  }
  if (settings_.hooks.after_step) settings_.hooks.after_step();
}

void Agents::CheckOrder(const Actions& actions) {
  bool replied = false;
  for (const Action& action : actions) {
    replied |= std::holds_alternative<ReplyClient>(action);
    const auto* peer = std::get_if<SendPeer>(&action);
    if (replied && peer != nullptr &&
        std::holds_alternative<CollectiveDown>(peer->message.body)) {
      errors_.push_back("release sent on after a reply");
    }
  }
}

// Every stand-in that has `On` for the action executes it: for example, a
// rank's data is published in a segment, and its client gets a reply.
template <typename Action>
void Agents::Execute(NodeId node, Action& action) {
  if constexpr (std::is_same_v<Action, SendPeer>) {
    Send(node, std::move(action.message));
  } else if constexpr (std::is_same_v<Action, SetDeadline>) {
    queue_.SetDeadline(node, action.when);
  } else {
    const auto execute = [&]<typename StandIn>(StandIn& stand_in) {
      if constexpr (Executes<Action, StandIn>()) stand_in.On(node, action);
    };
    std::apply(
        [&]<typename... StandIn>(StandIn&... stand_ins) {
          static_assert(
              (Executes<Action, StandIn>() || ...) == IsSimulated<Action>(),
              "no stand-in executes this action");
          (execute(stand_ins), ...);
        },
        stand_ins_);
  }
}

void Agents::Send(NodeId node, PeerMessage message) {
  if (message.dst == node || message.dst >= members_.size()) {
    errors_.push_back("message to nobody");
    return;
  }
  message.src = node;
  oracle_.OnSend(message);
  network_.Send(std::move(message));
}

}  // namespace canopy::sim
