#include "tests/sim/clients.h"

#include <variant>

#include "common/bytes.h"
#include "common/host_op.h"
#include "common/refusal.h"
#include "common/status.h"
#include "server/core/step/host.h"
#include "tests/sim/kvals.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

Clients::Clients(const Settings& settings, const JobCatalog& jobs,
                 AgentInputs& inputs, Oracle& oracle, Errors& errors)
    : settings_(settings),
      jobs_(jobs),
      inputs_(inputs),
      oracle_(oracle),
      errors_(errors) {}

// ------------------------------------------------------------ connections ---

ClientId Clients::Connect(const ProcId& proc) {
  const ClientId id = ++last_client_;
  ids_[proc] = id;
  node_of_[id] = jobs_.NodeOf(proc);
  inputs_.Post(jobs_.NodeOf(proc), ClientConnected{id, proc});
  return id;
}

void Clients::Disconnect(const ProcId& proc) {
  Send(proc, ClientGone{IdOf(proc)});
}

void Clients::OnExit(const ProcId& proc) {
  if (ids_.contains(proc)) Disconnect(proc);
  away_.erase(proc);
}

void Clients::Send(const ProcId& proc, Input input) {
  if (!IsAway(proc)) inputs_.Post(jobs_.NodeOf(proc), std::move(input));
}

// --------------------------------------------------------------- requests ---

void Clients::Ask(const ProcId& proc, RequestId request, Input input) {
  Record(proc, request, input);
  Send(proc, std::move(input));
}

void Clients::Record(const ProcId& proc, RequestId request,
                     const Input& input) {
  if (settings_.hooks.on_request) {
    settings_.hooks.on_request(proc, request, input, false);
  }
  if (settings_.persists) pending_[request] = {proc, input};
}

// Returns true for half of the fences that may wait in the job's barrier. A
// process waits there for one fence at a time, and sends a message after it has
// reattached.
bool Clients::GoesToBarrier(const ProcId& proc,
                            const CollectiveArrived& in) const {
  return in.op == CollectiveOp::kFence && in.timeout_ms == 0 &&
         in.request % 2 == 0 && !at_barrier_.contains(in.client) &&
         std::ranges::all_of(in.participants, [&](const ProcId& one) {
           return one == ProcId{proc.nspace, kRankWildcard};
         });
}

void Clients::Commit(const ProcId& proc, Scope scope, const std::string& key,
                     const std::string& value) {
  oracle_.OnCommit(proc, scope, key, value);
  Committed commit{IdOf(proc), 0, {{scope, Bytes(Kval(key, value))}}};
  if (settings_.persists) commits_[proc].push_back(commit.data.front());
  Send(proc, std::move(commit));
}

RequestId Clients::Arrive(const ProcId& proc, CollectiveArrived in) {
  const RequestId request = NewRequest();
  in.client = IdOf(proc);
  in.request = request;
  oracle_.OnArrive(proc, request, in.op, in.participants, in.collect_data);
  if (!GoesToBarrier(proc, in)) {
    Ask(proc, request, std::move(in));
    return request;
  }
  at_barrier_[in.client] = request;
  Record(proc, request, in);
  Send(proc, LocalFenceArrived{{in.client}, in.collect_data});
  return request;
}

RequestId Clients::Fence(const ProcId& proc, std::vector<ProcId> participants,
                         bool collect, uint32_t timeout_ms) {
  CollectiveArrived in;
  in.participants = std::move(participants);
  in.collect_data = collect;
  in.timeout_ms = timeout_ms;
  return Arrive(proc, std::move(in));
}

RequestId Clients::Collective(CollectiveOp op, const ProcId& proc,
                              std::vector<ProcId> participants,
                              uint32_t timeout_ms) {
  CollectiveArrived in;
  in.op = op;
  in.participants = std::move(participants);
  in.timeout_ms = timeout_ms;
  return Arrive(proc, std::move(in));
}

RequestId Clients::Group(CollectiveOp op, const ProcId& proc,
                         const std::string& name,
                         std::vector<ProcId> participants, Bytes info) {
  CollectiveArrived in;
  in.client = IdOf(proc);
  in.request = NewRequest();
  in.op = op;
  in.name = name;
  in.participants = std::move(participants);
  in.info = std::move(info);
  const RequestId request = in.request;
  Ask(proc, request, std::move(in));
  return request;
}

RequestId Clients::LeaveGroup(const ProcId& proc, const std::string& name) {
  GroupCallArrived in;
  in.client = IdOf(proc);
  in.request = NewRequest();
  in.name = name;
  const RequestId request = in.request;
  Ask(proc, request, std::move(in));
  return request;
}

RequestId Clients::Get(const ProcId& proc, GetArrived get) {
  const RequestId request = NewRequest();
  get.client = IdOf(proc);
  get.request = request;
  gets_[request] = get.target;
  Ask(proc, request, std::move(get));
  return request;
}

RequestId Clients::Publish(const ProcId& proc, const std::string& key,
                           bool once) {
  const RequestId request = NewRequest();
  oracle_.OnPublishCall(proc, request, key, once);
  Ask(proc, request,
      PublishArrived{IdOf(proc), request, PublishInfo(key, once)});
  return request;
}

RequestId Clients::Lookup(const ProcId& proc, std::vector<std::string> keys,
                          uint32_t timeout_seconds) {
  const RequestId request = NewRequest();
  lookups_[request] = proc;
  Ask(proc, request,
      LookupArrived{IdOf(proc), request, std::move(keys),
                    LookupInfo(timeout_seconds)});
  return request;
}

RequestId Clients::Unpublish(const ProcId& proc, const std::string& key) {
  const RequestId request = NewRequest();
  Ask(proc, request, UnpublishArrived{IdOf(proc), request, {key}, Bytes()});
  return request;
}

RequestId Clients::Abort(const ProcId& proc, int status,
                         const std::string& text, std::vector<ProcId> targets) {
  const RequestId request = NewRequest();
  Ask(proc, request,
      AbortArrived{IdOf(proc), request, status, text, std::move(targets)});
  return request;
}

RequestId Clients::Spawn(const ProcId& proc, Bytes call) {
  const RequestId request = NewRequest();
  oracle_.OnSpawnCall(request, call.view());
  Ask(proc, request, SpawnArrived{IdOf(proc), request, std::move(call)});
  return request;
}

RequestId Clients::ControlJob(const ProcId& proc, std::vector<ProcId> targets,
                              Bytes call) {
  return CallHost(proc, HostOp::kJobControl, std::move(call),
                  std::move(targets));
}

RequestId Clients::CallHost(const ProcId& proc, HostOp op, Bytes call,
                            std::vector<ProcId> targets) {
  const RequestId request = NewRequest();
  Ask(proc, request,
      HostCallArrived{IdOf(proc), request, op, std::move(targets),
                      std::move(call)});
  return request;
}

RequestId Clients::WantEvents(const ProcId& proc, std::vector<int> codes) {
  const RequestId request = NewRequest();
  EventsWanted& wanted = wanted_[proc];
  wanted.all |= codes.empty();
  wanted.codes.insert(wanted.codes.end(), codes.begin(), codes.end());
  Ask(proc, request,
      EventsWanted{IdOf(proc), request, codes.empty(), std::move(codes)});
  return request;
}

RequestId Clients::Raise(const ProcId& proc, int status, uint8_t range,
                         std::vector<ProcId> targets, Bytes info) {
  const RequestId request = NewRequest();
  EventRaised in;
  in.client = IdOf(proc);
  in.request = in.id = request;
  in.status = status;
  in.range = range;
  in.targets = std::move(targets);
  in.info = std::move(info);
  Ask(proc, request, std::move(in));
  return request;
}

RequestId Clients::Query(const ProcId& proc, Bytes queries) {
  const RequestId request = NewRequest();
  Ask(proc, request, QueryArrived{IdOf(proc), request, std::move(queries)});
  return request;
}

void Clients::Finalize(const ProcId& proc) {
  Send(proc, FinalizeArrived{IdOf(proc), NewRequest()});
}

// ---------------------------------------------------------------- answers ---

void Clients::On(NodeId node, ReplyClient& a) {
  if (a.request == 0) return;  // no reply is awaited
  CheckAnswer(node, a);
  Answer answer{a.status, std::string(a.payload.view())};
  const TimeNs delay = DelayOf(a.request);
  if (delay == 0) return Receive(a.request, std::move(answer));
  on_their_way_[a.request] = a.client;
  inputs_.PostCallback(delay, node,
                       [this, request = a.request, answer = std::move(answer)] {
                         Receive(request, answer);
                       });
}

void Clients::On(NodeId node, ReleaseFence& a) {
  for (const ClientId client : a.clients) {
    const auto waits = at_barrier_.extract(client);
    if (waits.empty()) {
      errors_.push_back("a client was released that is not in the barrier");
      continue;
    }
    ReplyClient reply{client, waits.mapped(), a.status, {}};
    On(node, reply);
  }
}

void Clients::CheckAnswer(NodeId node, const ReplyClient& a) {
  const auto owner = node_of_.find(a.client);
  if (owner == node_of_.end() || owner->second != node) {
    errors_.push_back("reply to a client of another node");
  }
  // A client that has reattached may get an earlier reply again.
  const auto before = on_their_way_.find(a.request);
  if (answers_.contains(a.request) ||
      (before != on_their_way_.end() && before->second == a.client)) {
    errors_.push_back("a request was answered twice");
  }
  oracle_.OnReply(node, a.request, a.status);
  if (const auto get = gets_.find(a.request); get != gets_.end()) {
    oracle_.OnGetReply(get->second, a.payload.view());
  }
  if (const auto lookup = lookups_.find(a.request); lookup != lookups_.end()) {
    oracle_.OnLookupReply(lookup->second, a.request, a.payload.view());
  }
}

// Returns the delay of the answer. Only answers to requests that agents persist
// are delayed, because processes repeat these requests if the answer is lost.
TimeNs Clients::DelayOf(RequestId request) const {
  const TimeNs limit = settings_.options.answer_delay;
  if (limit == 0 || !pending_.contains(request)) return 0;
  constexpr uint64_t kSpread = 0x9e3779b97f4a7c15;
  return static_cast<TimeNs>((request * kSpread >> 32) %
                             static_cast<uint64_t>(limit));
}

void Clients::Receive(RequestId request, Answer answer) {
  on_their_way_.erase(request);
  const int status = answer.status;
  answers_.try_emplace(request, std::move(answer));
  CountEnd(request, status);
  if (settings_.hooks.on_answer) settings_.hooks.on_answer(request);
}

void Clients::On(NodeId, NotifyClient& a) {
  const core::ClientEvent& event = *a.event;
  for (const auto& [proc, client] : ids_) {
    if (client != a.client) continue;
    if (notified_.try_emplace(proc, kRecentOfProcess)
            .first->second.Note(event.id)) {
      notices_.push_back({proc, event.status, event.source});
      if (settings_.hooks.on_notice) {
        settings_.hooks.on_notice(proc, event.status, event.source, event.info);
      }
    }
  }
}

void Clients::On(NodeId, CloseClient& a) { closed_.push_back(a.client); }

// Replies to a commit whose acknowledgement was due after its publication.
void Clients::On(NodeId node, PublishRank& a) {
  if (a.request == 0) return;
  ReplyClient reply{a.client, a.request, kSuccess, {}};
  On(node, reply);
}

const Answer* Clients::AnswerTo(RequestId request) const {
  const auto it = answers_.find(request);
  return it == answers_.end() ? nullptr : &it->second;
}

int Clients::StatusOf(RequestId request) const {
  const Answer* answer = AnswerTo(request);
  return answer == nullptr ? kUnanswered : answer->status;
}

// --------------------------------------------------------------- reattach ---

void Clients::CountEnd(RequestId request, int status) {
  const auto it = pending_.find(request);
  if (it == pending_.end()) return;
  const auto& [proc, input] = it->second;
  const auto* arrived = std::get_if<CollectiveArrived>(&input);
  if (arrived != nullptr && !IsRefusal(status)) {
    ++ended_[proc][{arrived->op, arrived->participants, 0, arrived->name}];
  }
  CountLeave(proc, input, status);
  pending_.erase(it);
}

// Counts a leave in the same way as client::CollectiveCounts.
void Clients::CountLeave(const ProcId& proc, const Input& input, int status) {
  std::map<std::string, Series>& groups = groups_[proc];
  if (const auto* left = std::get_if<GroupCallArrived>(&input)) {
    const auto group = groups.find(left->name);
    const bool leaves = left->call == GroupCallArrived::Call::kLeave &&
                        status == kSuccess && group != groups.end();
    if (leaves) left_[proc].insert(group->second);
    return;
  }
  const auto* made = std::get_if<CollectiveArrived>(&input);
  const bool succeeded = status == kSuccess || status == kErrPartialSuccess;
  if (made == nullptr || made->op != CollectiveOp::kGroupConstruct ||
      !succeeded) {
    return;
  }
  const Series end{CollectiveOp::kGroupDestruct, made->participants, 0,
                   made->name};
  if (left_[proc].erase(end) > 0) ++ended_[proc][end];
  groups[made->name] = end;
}

void Clients::LoseAgent(const std::vector<ProcId>& procs) {
  for (const ProcId& proc : procs) {
    if (ids_.contains(proc)) away_.insert(proc);
  }
}

void Clients::Reattach(const ProcId& proc) {
  away_.erase(proc);
  const ClientId client = Connect(proc);
  ClientReattached reattached{client, {}};
  for (const auto& [series, ended] : ended_[proc]) {
    reattached.counts.push_back(
        {series.op, series.participants, ended, series.name});
  }
  Send(proc, std::move(reattached));
  if (Committed all{client, 0, commits_[proc]}; !all.data.empty()) {
    Send(proc, std::move(all));
  }
  if (const auto wanted = wanted_.find(proc); wanted != wanted_.end()) {
    wanted->second.client = client;
    Send(proc, wanted->second);
  }
  for (auto& [request, asked] : pending_) {
    if (asked.first != proc) continue;
    std::visit(
        [&](auto& in) {
          if constexpr (requires { in.client; }) in.client = client;
        },
        asked.second);
    if (settings_.hooks.on_request) {
      settings_.hooks.on_request(proc, request, asked.second, true);
    }
    Send(proc, asked.second);
  }
}

}  // namespace canopy::sim
