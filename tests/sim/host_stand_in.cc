#include "tests/sim/host_stand_in.h"

#include "common/status.h"
#include "server/core/step/input.h"
#include "tests/sim/event.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

constexpr uint64_t kLateNs = 400 * kMs;
constexpr uint64_t kAwayNs = 300 * kMs;
constexpr uint64_t kSecondNs = 50 * kMs;
// No agent uses such a number for a call.
constexpr uint64_t kNobodys = uint64_t{1} << 62;

}  // namespace

HostStandIn::HostStandIn(const Settings& settings, EventQueue& queue,
                         const Membership& members, AgentInputs& inputs,
                         Random& random, Errors& errors)
    : settings_(settings),
      queue_(queue),
      members_(members),
      inputs_(inputs),
      random_(random),
      errors_(errors) {}

void HostStandIn::On(NodeId node, AskHost& a) {
  if (!open_.try_emplace({node, a.number}, a.source.nspace).second) {
    errors_.push_back("two questions to the host with one number");
  }
  Treat(node, a.number, Note(a));
}

void HostStandIn::On(NodeId node, DropJob& a) {
  std::erase_if(open_, [&](const auto& entry) {
    return entry.first.first == node && entry.second == a.nspace;
  });
}

void HostStandIn::LoseAgent(NodeId node) {
  std::erase_if(open_,
                [&](const auto& entry) { return entry.first.first == node; });
}

// ------------------------------------------------------------- decisions ---

HostStandIn::Call& HostStandIn::Note(const AskHost& ask) {
  Identity id{ask.source, ask.request};
  const std::string bytes(ask.call.view());
  const bool asked_before = identities_.contains(bytes);
  if (sabotage_ == Sabotage::kForgetsIdentity && asked_before) ++id.second;
  const Identity& first = identities_.try_emplace(bytes, id).first->second;
  if (first != id) {
    errors_.push_back("the host is asked twice for one call of " +
                      ToString(ask.source));
  }
  Call& call = calls_[id];
  if (call.asked++ == 0) {
    call.ask = ask;
    Decide(&call);
  } else if (call.ask.call.view() != ask.call.view() || call.ask.op != ask.op ||
             call.ask.uid != ask.uid) {
    errors_.push_back("two calls of " + ToString(ask.source) +
                      " come to the host as one");
  } else if (!settings_.persists) {
    errors_.push_back("the host is asked again without a restart");
  }
  return call;
}

void HostStandIn::Decide(Call* call) {
  constexpr int kRefusals[] = {kErrNotSupported, kErrOutOfResource,
                               kErrNoPermissions, kErrServerFailedRequest};
  call->manner = manners_ ? manners_(call->ask) : Manner::kPrompt;
  call->status = kSuccess;
  call->results = "of " + std::string(call->ask.call.view());
  switch (call->manner) {
    case Manner::kRefuses:
      call->status = kRefusals[random_.Below(std::size(kRefusals))];
      break;
    case Manner::kMalformed:
      call->status = kErrUnpackFailure;
      call->results.clear();
      break;
    case Manner::kNever:
      call->status = kErrTimeout;
      call->results.clear();
      break;
    default:
      break;
  }
}

// --------------------------------------------------------------- answers ---

void HostStandIn::Treat(NodeId node, uint64_t number, const Call& call) {
  switch (call.manner) {
    case Manner::kLate:
      return AnswerIn(static_cast<TimeNs>(random_.Below(kLateNs)), node, number,
                      call);
    case Manner::kStale: {
      const auto delay = static_cast<TimeNs>(random_.Below(kLateNs));
      AnswerStale(delay, node, number);
      return AnswerIn(delay, node, number, call);
    }
    case Manner::kNever:
      return AnswerIn(kHostPatience, node, number, call);
    case Manner::kStray:
      for (const uint64_t nobodys : {uint64_t{0}, kNobodys, ~uint64_t{0}}) {
        inputs_.Post(node, HostAnswered{nobodys, kErrTimeout, {}});
      }
      return AnswerIn(random_.Delay(), node, number, call);
    case Manner::kAway:
      if (!is_away()) {
        back_ = queue_.now() + static_cast<TimeNs>(random_.Below(kAwayNs));
      }
      return AnswerIn(random_.Delay(), node, number, call);
    case Manner::kTwice:
      return AnswerIn(random_.Delay(), node, number, call);
    default:
      return AnswerIn(0, node, number, call);
  }
}

bool HostStandIn::is_away() const { return queue_.now() < back_; }

// Answers after the delay. A host that is away answers when it is back.
void HostStandIn::AnswerIn(TimeNs delay, NodeId node, uint64_t number,
                           const Call& call) {
  inputs_.PostCallback(delay, node, [this, node, number, &call] {
    const bool gives_up = call.manner == Manner::kNever;
    if (!gives_up && is_away()) {
      return AnswerIn(back_ - queue_.now() + random_.Delay(), node, number,
                      call);
    }
    Answer(node, number, call);
  });
}

// Sends a late answer to a successor, if there is one by then; the successor
// awaits other answers.
void HostStandIn::AnswerStale(TimeNs delay, NodeId node, uint64_t number) {
  const auto stale = [this, node, number, start = members_.start(node)] {
    if (!members_.alive(node) || members_.start(node) == start) return;
    uint64_t to = number;
    if (sabotage_ == Sabotage::kReusesNumbers) {
      const auto other = open_.lower_bound({node, 0});
      if (other != open_.end() && other->first.first == node) {
        to = other->first.second;
      }
    }
    inputs_.Post(node, HostAnswered{to, kErrTimeout, {}});
  };
  queue_.Post(queue_.now() + delay, Callback(stale));
}

void HostStandIn::Answer(NodeId node, uint64_t number, const Call& call) {
  if (open_.erase({node, number}) == 0) return;
  if (sabotage_ == Sabotage::kLosesAnswers && random_.OneIn(3)) return;
  inputs_.Post(node, HostAnswered{number, call.status, Bytes(call.results)});
  if (call.manner != Manner::kTwice) return;
  const auto second = static_cast<TimeNs>(random_.Below(kSecondNs));
  inputs_.PostAt(queue_.now() + second, node,
                 HostAnswered{number, kErrTimeout, {}});
}

const HostStandIn::Call* HostStandIn::Find(const Bytes& call) const {
  const auto it = identities_.find(std::string(call.view()));
  return it == identities_.end() ? nullptr : &calls_.at(it->second);
}

}  // namespace canopy::sim
