#include "tests/sim/operations.h"

#include <algorithm>
#include <type_traits>
#include <variant>

#include "common/refusal.h"
#include "common/status.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

// It ends later than its caller's answer comes.
bool Lingers(const Operation& o) {
  return o.phase == Phase::kPublished || o.phase == Phase::kConnected ||
         (o.phase == Phase::kLookupEnding && !o.calls.empty());
}

}  // namespace

// ------------------------------------------------------------- requests ---

Operation& Operations::Add(const ProcId& proc, RequestId request,
                           Operation::Kind kind, Phase phase) {
  const Number number = ++last_;
  Operation& o = all_[number];
  o.kind = kind;
  o.phase = phase;
  o.proc = proc;
  o.request = request;
  o.procs = {proc};
  o.nodes = {node_of_(proc)};
  o.unanswered[request] = proc;
  of_request_[request] = of_caller_[proc] = number;
  touched_.push_back(number);
  return o;
}

void Operations::OnRequest(const ProcId& proc, RequestId request,
                           const Input& input) {
  using Kind = Operation::Kind;
  std::visit(
      [&]<typename T>(const T& in) {
        if constexpr (std::is_same_v<T, SpawnArrived>) {
          Add(proc, request, Kind::kSpawn, Phase::kSpawnRequested);
        } else if constexpr (std::is_same_v<T, CollectiveArrived>) {
          Arrive(proc, request, in);
        } else if constexpr (std::is_same_v<T, PublishArrived>) {
          Add(proc, request, Kind::kNames, Phase::kPublishOffering);
        } else if constexpr (std::is_same_v<T, LookupArrived>) {
          Add(proc, request, Kind::kNames, Phase::kLookupAsking);
        } else if constexpr (std::is_same_v<T, UnpublishArrived>) {
          Add(proc, request, Kind::kNames, Phase::kUnpublishRemoving);
        } else if constexpr (std::is_same_v<T, AbortArrived>) {
          AddAbort(proc, request, in);
        }
      },
      input);
}

void Operations::Arrive(const ProcId& proc, RequestId request,
                        const CollectiveArrived& in) {
  if (in.op == CollectiveOp::kFence) return;
  Series series{in.op, in.participants};
  std::ranges::sort(series.second);
  const uint64_t sequence = arrivals_[{series, proc}]++;
  Number& number = of_collective_[{series, sequence}];
  if (Get(number) == nullptr) {
    const bool connects = in.op == CollectiveOp::kConnect;
    Operation& o =
        Add(proc, request, Operation::Kind::kCollective,
            connects ? Phase::kConnectGathering : Phase::kDisconnectGathering);
    number = last_;
    o.id = {in.op, series.second, sequence};
    o.procs.insert(series.second.begin(), series.second.end());
    for (const ProcId& member : series.second) {
      o.nodes.insert(node_of_(member));
    }
    series.first = CollectiveOp::kConnect;
    const auto connected = of_collective_.find({series, sequence});
    if (!connects && connected != of_collective_.end())
      Erase(connected->second);
  }
  Operation& o = all_.at(number);
  o.arrived.insert(proc);
  o.unanswered[request] = proc;
  of_request_[request] = number;
  touched_.push_back(number);
}

void Operations::AddAbort(const ProcId& proc, RequestId request,
                          const AbortArrived& in) {
  Operation& o =
      Add(proc, request, Operation::Kind::kAbort, Phase::kAbortRequested);
  for (const ProcId& target : in.targets) {
    o.procs.insert(target);
    o.nodes.insert(node_of_(target));
  }
}

void Operations::OnAskedAgain(RequestId request) {
  Operation* o = GetRequest(request);
  if (o == nullptr) return;
  o->again = true;
  touched_.push_back(of_request_.at(request));
}

void Operations::OnReceived(RequestId request, int status) {
  const auto it = of_request_.find(request);
  if (it == of_request_.end()) return;
  const Number number = it->second;
  Operation* o = Get(number);
  if (o == nullptr) return;
  touched_.push_back(number);
  const auto caller = o->unanswered.extract(request);
  if (caller.empty()) return;
  if (o->kind == Operation::Kind::kCollective && IsRefusal(status)) {
    o->arrived.erase(caller.mapped());
    --arrivals_[{{o->id.op, o->id.participants}, caller.mapped()}];
  } else if (o->phase == Phase::kPublishOffering) {
    if (status != kSuccess) return Erase(number);
    o->phase = Phase::kPublished;
  }
  EndIfOver(number);
}

void Operations::EndIfOver(Number number) {
  Operation* o = Get(number);
  if (o == nullptr || !o->unanswered.empty() || Lingers(*o)) return;
  if (o->phase == Phase::kConnectReleasing && o->HaveAllCome()) {
    o->phase = Phase::kConnected;
  } else {
    Erase(number);
  }
}

void Operations::OnExit(const ProcId& proc) {
  std::vector<Number> over;
  for (auto& [number, o] : all_) {
    if (!o.procs.contains(proc)) continue;
    std::erase_if(o.unanswered,
                  [&](const auto& u) { return u.second == proc; });
    const bool its_own =
        o.proc == proc && o.kind != Operation::Kind::kCollective;
    // The others are answered that it can not come.
    const bool failed = o.unanswered.empty();
    if (its_own || failed) over.push_back(number);
  }
  for (const Number number : over) Erase(number);
}

void Operations::Erase(Number number) {
  const auto it = all_.find(number);
  if (it == all_.end()) return;
  for (const Call& call : it->second.calls) of_call_.erase(call);
  of_request_.erase(it->second.request);
  all_.erase(it);
}

// ----------------------------------------------------------------- steps ---

Operation* Operations::Get(Number number) {
  const auto it = all_.find(number);
  return it == all_.end() ? nullptr : &it->second;
}

Operation* Operations::GetRequest(RequestId request) {
  const auto it = of_request_.find(request);
  return it == of_request_.end() ? nullptr : Get(it->second);
}

void Operations::OnInput(NodeId, const Input& input) {
  served_ = 0;
  if (const auto* peer = std::get_if<PeerArrived>(&input)) {
    const Number number = NumberOf(peer->message);
    if (Operation* o = Get(number)) {
      o->nodes.insert(peer->message.dst);
      touched_.push_back(number);
      Came(peer->message, o);
    }
    if (const auto* answer =
            std::get_if<DirectoryAnswer>(&peer->message.body)) {
      const Call call{peer->message.dst, answer->request};
      of_call_.erase(call);
      if (const auto pulls = pulls_.find(call.first); pulls != pulls_.end()) {
        pulls->second.erase(call.second);
      }
    } else if (const auto* map =
                   std::get_if<JobMapReply>(&peer->message.body)) {
      map_requests_.erase({peer->message.dst, map->nspace});
    }
    EndIfOver(number);
  } else if (const auto* launch = std::get_if<LaunchRequested>(&input)) {
    const auto caller = of_caller_.find(launch->job->parent);
    if (caller == of_caller_.end()) return;
    of_spawned_[launch->job->nspace] = caller->second;
    Operation* o = Get(caller->second);
    if (o == nullptr) return;
    for (const JobNode& node : launch->job->nodes) o->nodes.insert(node.agent);
  } else if (const auto* done = std::get_if<SpawnDone>(&input)) {
    Operation* o = GetRequest(done->request);
    if (o != nullptr) o->phase = Phase::kSpawnAnswering;
  } else {
    std::visit(
        [&](const auto& in) {
          if constexpr (requires { in.request; }) {
            const auto it = of_request_.find(in.request);
            if (it != of_request_.end()) served_ = it->second;
          }
        },
        input);
  }
}

void Operations::OnActions(NodeId node, const Actions& actions) {
  std::set<uint64_t> pulls;
  for (const Action& action : actions) {
    if (const auto* send = std::get_if<SendPeer>(&action)) {
      if (const auto* pull = std::get_if<DirectoryPull>(&send->message.body)) {
        pulls.insert(pull->request);
      } else if (const auto* map =
                     std::get_if<JobMapRequest>(&send->message.body)) {
        map_requests_.insert({node, map->nspace});
      }
      const Number number = NumberOf(send->message);
      if (Operation* o = Get(number)) {
        if (number == served_) served_ = 0;
        touched_.push_back(number);
        Sent(send->message, o);
      }
    } else if (const auto* host = std::get_if<HostSpawn>(&action)) {
      if (Operation* o = GetRequest(host->request)) {
        o->phase = Phase::kSpawnExecuting;
        o->nodes.insert(node);
        touched_.push_back(of_request_.at(host->request));
      }
    } else if (const auto* reply = std::get_if<ReplyClient>(&action)) {
      OnReply(*reply);
    }
  }
  if (!pulls.empty()) OnPulls(node, pulls);
  ServeAlone(node);
}

// Those of an earlier round have no answer any more.
void Operations::OnPulls(NodeId node, const std::set<uint64_t>& pulls) {
  std::set<uint64_t>& all = pulls_[node];
  const bool repeats = std::ranges::includes(all, pulls);
  if (!repeats) all = pulls;
  for (const auto& [number, o] : all_) {
    if (o.owners.contains(node)) touched_.push_back(number);
  }
}

void Operations::ServeAlone(NodeId node) {
  Operation* o = Get(served_);
  if (o == nullptr) return;
  touched_.push_back(served_);
  if (o->phase == Phase::kAbortRequested) {
    o->phase = Phase::kAbortEnding;
  } else if (o->kind == Operation::Kind::kNames) {
    o->owners = {node};
    o->delivered = true;
  }
}

void Operations::OnReply(const ReplyClient& reply) {
  Operation* o = GetRequest(reply.request);
  if (o == nullptr) return;
  touched_.push_back(of_request_.at(reply.request));
  switch (o->kind) {
    case Operation::Kind::kSpawn:
      o->phase = Phase::kSpawnAnswering;
      break;
    case Operation::Kind::kAbort:
      o->phase = Phase::kAbortAnswering;
      break;
    case Operation::Kind::kCollective:
      if (reply.status != kSuccess) break;
      o->phase = o->id.op == CollectiveOp::kConnect
                     ? Phase::kConnectReleasing
                     : Phase::kDisconnectReleasing;
      break;
    case Operation::Kind::kNames:
      if (o->phase == Phase::kPublishOffering && reply.status == kSuccess) {
        o->phase = Phase::kPublished;
      } else if (o->phase != Phase::kPublished &&
                 o->phase != Phase::kPublishOffering &&
                 o->phase != Phase::kUnpublishRemoving) {
        o->phase = Phase::kLookupEnding;
      }
  }
}

void Operations::OnAgentGone(NodeId node) {
  pulls_.erase(node);
  std::erase_if(map_requests_, [&](const auto& r) { return r.first == node; });
  std::vector<Number> over;
  for (auto& [number, o] : all_) {
    std::erase_if(o.calls,
                  [&](const Call& call) { return call.first == node; });
    over.push_back(number);
  }
  std::erase_if(of_call_, [&](const auto& c) { return c.first.first == node; });
  for (const Number number : over) EndIfOver(number);
}

}  // namespace canopy::sim
