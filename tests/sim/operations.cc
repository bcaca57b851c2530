#include "tests/sim/operations.h"

#include <algorithm>
#include <type_traits>
#include <variant>

#include "common/refusal.h"
#include "common/status.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

// Returns whether the operation continues after its caller has received the
// reply.
bool Lingers(const Operation& o) {
  return o.phase == Phase::kPublished || o.phase == Phase::kConnected ||
         (o.phase == Phase::kLookupEnding && !o.calls.empty()) ||
         o.phase == Phase::kGrouped || o.phase == Phase::kEventSpreading ||
         (o.phase == Phase::kGroupLeaving && !o.on_its_way.empty());
}

Phase FirstPhaseOf(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::kConnect:
      return Phase::kConnectGathering;
    case CollectiveOp::kGroupConstruct:
      return Phase::kGroupGathering;
    case CollectiveOp::kGroupDestruct:
      return Phase::kUngroupGathering;
    default:
      return Phase::kDisconnectGathering;
  }
}

Phase ReleasingOf(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::kConnect:
      return Phase::kConnectReleasing;
    case CollectiveOp::kGroupConstruct:
      return Phase::kGroupReleasing;
    case CollectiveOp::kGroupDestruct:
      return Phase::kUngroupReleasing;
    default:
      return Phase::kDisconnectReleasing;
  }
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
        } else if constexpr (std::is_same_v<T, GroupCallArrived>) {
          Leave(proc, request, in.name);
        } else if constexpr (std::is_same_v<T, EventRaised>) {
          Add(proc, request, Kind::kEvent, Phase::kEventSpreading).status =
              in.status;
        } else if constexpr (std::is_same_v<T, HostCallArrived>) {
          AddControl(proc, request, in);
        } else if constexpr (std::is_same_v<T, QueryArrived>) {
          Add(proc, request, Kind::kQuery, Phase::kQueryAsking);
        }
      },
      input);
}

void Operations::Arrive(const ProcId& proc, RequestId request,
                        const CollectiveArrived& in) {
  if (in.op == CollectiveOp::kFence) return;
  CollectiveId id{in.op, in.participants, 0, in.name};
  std::ranges::sort(id.participants);
  Series series = SeriesOf(id);
  const uint64_t sequence = arrivals_[{series, proc}]++;
  Number& number = of_collective_[{series, sequence}];
  if (Get(number) == nullptr) {
    Operation& o =
        Add(proc, request, Operation::Kind::kCollective, FirstPhaseOf(in.op));
    number = last_;
    o.id = id;
    o.id.sequence = sequence;
    o.procs.insert(id.participants.begin(), id.participants.end());
    o.arrived = left_[{series, sequence}];
    for (const ProcId& member : id.participants) {
      o.nodes.insert(node_of_(member));
    }
    series.first = IsGroupOp(in.op) ? CollectiveOp::kGroupConstruct
                                    : CollectiveOp::kConnect;
    const auto begun = of_collective_.find({series, sequence});
    if (series.first != in.op && begun != of_collective_.end()) {
      Erase(begun->second);
    }
  }
  Operation& o = all_.at(number);
  o.arrived.insert(proc);
  o.unanswered[request] = proc;
  of_request_[request] = number;
  touched_.push_back(number);
}

Operations::Series Operations::SeriesOf(const CollectiveId& id) {
  if (!IsGroupOp(id.op)) return {id.op, id.participants};
  return {id.op, {ProcId{id.name, 0}}};
}

// Records that the process has arrived at the end of the group by leaving it.
void Operations::Leave(const ProcId& proc, RequestId request,
                       const std::string& group) {
  Operation& leave =
      Add(proc, request, Operation::Kind::kEvent, Phase::kGroupLeaving);
  of_leave_[proc] = last_;
  const Series series = SeriesOf({CollectiveOp::kGroupDestruct, {}, 0, group});
  const uint64_t sequence = arrivals_[{series, proc}]++;
  left_[{series, sequence}].insert(proc);
  const auto end = of_collective_.find({series, sequence});
  Operation* o = end == of_collective_.end() ? nullptr : Get(end->second);
  if (o == nullptr) return;
  o->arrived.insert(proc);
  leave.procs.insert(o->procs.begin(), o->procs.end());
}

void Operations::AddControl(const ProcId& proc, RequestId request,
                            const HostCallArrived& in) {
  Operation& o =
      Add(proc, request, Operation::Kind::kControl, Phase::kControlAsking);
  o.call = in.call;
  for (const ProcId& target : in.targets) {
    o.procs.insert(target);
    if (target.rank != kRankWildcard) {
      o.nodes.insert(node_of_(target));
    } else {
      const std::set<NodeId>& all = nodes_of_[target.nspace];
      o.nodes.insert(all.begin(), all.end());
    }
    const auto controller = controllers_.find(target.nspace);
    if (controller == controllers_.end()) continue;
    o.nodes.insert(controller->second);
    if (controller->second == node_of_(proc)) o.phase = Phase::kControlActing;
  }
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
    --arrivals_[{SeriesOf(o->id), caller.mapped()}];
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
  } else if (o->phase == Phase::kGroupReleasing && o->HaveAllCome()) {
    o->phase = Phase::kGrouped;
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
    // The other participants get the reply that the process cannot arrive. The
    // operation is over when no participant waits for a reply.
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

void Operations::SentCollective(Operation* o) const {
  o->phase = ReleasingOf(o->id.op);
}

// Handles a message of job control, which is sent from the caller's agent to
// the job's controller, and from there to the agents of the targets.
void Operations::SentControl(const PeerMessage& message,
                             const std::string& nspace, bool is_answer,
                             Operation* o) const {
  const auto controller = controllers_.find(nspace);
  if (controller == controllers_.end() || controller->second != message.src ||
      o->phase == Phase::kControlAnswering) {
    return;
  }
  o->phase = is_answer ? Phase::kControlAnswering : Phase::kControlActing;
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

void Operations::OnInput(NodeId node, const Input& input) {
  served_ = 0;
  if (const auto* launch = std::get_if<LaunchRequested>(&input)) {
    controllers_[launch->job->nspace] = node;
    for (const JobNode& one : launch->job->nodes) {
      nodes_of_[launch->job->nspace].insert(one.agent);
    }
  }
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
  const Number serving = served_;
  std::set<uint64_t> pulls;
  for (const Action& action : actions) {
    if (const auto* send = std::get_if<SendPeer>(&action)) {
      if (const auto* pull = std::get_if<DirectoryPull>(&send->message.body)) {
        pulls.insert(pull->request);
      } else if (const auto* map =
                     std::get_if<JobMapRequest>(&send->message.body)) {
        map_requests_.insert({node, map->nspace});
      } else if (const auto* ask =
                     std::get_if<FactsRequest>(&send->message.body)) {
        NoteAsk(node, ask->request, serving);
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

// Records the pulls of a round. Pulls of an earlier round get no answer any
// more.
void Operations::OnPulls(NodeId node, const std::set<uint64_t>& pulls) {
  std::set<uint64_t>& all = pulls_[node];
  const bool repeats = std::ranges::includes(all, pulls);
  if (!repeats) all = pulls;
  for (const auto& [number, o] : all_) {
    if (o.owners.contains(node)) touched_.push_back(number);
  }
}

// Records a request that an agent sends for a query. If the step in progress
// does not handle a query, the query is one that has waited for a map at this
// agent.
void Operations::NoteAsk(NodeId node, uint64_t request, Number serving) {
  const Call call{node, request};
  if (of_call_.contains(call)) return;
  Operation* o = Get(serving);
  if (o == nullptr || o->kind != Operation::Kind::kQuery) {
    const auto waits = std::ranges::find_if(all_, [&](const auto& entry) {
      return entry.second.kind == Operation::Kind::kQuery &&
             entry.second.calls.empty() && node_of_(entry.second.proc) == node;
    });
    if (waits == all_.end()) return;
    serving = waits->first;
    o = &waits->second;
  }
  of_call_[call] = serving;
  o->calls.insert(call);
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
      if (reply.status == kSuccess) o->phase = ReleasingOf(o->id.op);
      break;
    case Operation::Kind::kControl:
      o->phase = Phase::kControlAnswering;
      break;
    case Operation::Kind::kEvent:
    case Operation::Kind::kQuery:
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
    std::erase_if(o.on_its_way, [&](const auto& way) {
      return way.first == node || way.second == node;
    });
    over.push_back(number);
  }
  std::erase_if(of_call_, [&](const auto& c) { return c.first.first == node; });
  for (const Number number : over) EndIfOver(number);
}

}  // namespace canopy::sim
