#include "tests/sim/clients.h"

#include <variant>

#include "common/bytes.h"
#include "common/refusal.h"
#include "common/status.h"
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
  if (settings_.persists) pending_[request] = {proc, input};
  Send(proc, std::move(input));
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
  Ask(proc, request, std::move(in));
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
  oracle_.OnPublished(proc, key, once);
  Ask(proc, request,
      PublishArrived{IdOf(proc), request, PublishInfo(key, once)});
  return request;
}

RequestId Clients::Lookup(const ProcId& proc, const std::string& key,
                          uint32_t timeout_seconds) {
  const RequestId request = NewRequest();
  lookups_.insert(request);
  Ask(proc, request,
      LookupArrived{IdOf(proc), request, {key}, LookupInfo(timeout_seconds)});
  return request;
}

RequestId Clients::Unpublish(const ProcId& proc, const std::string& key) {
  const RequestId request = NewRequest();
  Ask(proc, request, UnpublishArrived{IdOf(proc), request, {key}, Bytes()});
  return request;
}

RequestId Clients::Abort(const ProcId& proc, int status,
                         const std::string& text) {
  const RequestId request = NewRequest();
  Ask(proc, request, AbortArrived{IdOf(proc), request, status, text, {}});
  return request;
}

RequestId Clients::Spawn(const ProcId& proc, Bytes call) {
  const RequestId request = NewRequest();
  Ask(proc, request, SpawnArrived{IdOf(proc), request, std::move(call)});
  return request;
}

void Clients::Finalize(const ProcId& proc) {
  Send(proc, FinalizeArrived{IdOf(proc), NewRequest()});
}

// ---------------------------------------------------------------- answers ---

void Clients::On(NodeId node, ReplyClient& a) {
  const auto owner = node_of_.find(a.client);
  if (owner == node_of_.end() || owner->second != node) {
    errors_.push_back("reply to a client of another node");
  }
  const Answer answer{a.status, std::string(a.payload.view())};
  if (!answers_.try_emplace(a.request, answer).second) {
    errors_.push_back("a request was answered twice");
  }
  oracle_.OnReply(node, a.request, a.status);
  if (const auto get = gets_.find(a.request); get != gets_.end()) {
    oracle_.OnGetReply(get->second, a.payload.view());
  }
  if (lookups_.contains(a.request)) {
    oracle_.OnLookupReply(a.payload.view());
  }
  CountEnd(a.request, a.status);
  if (settings_.hooks.on_answer) settings_.hooks.on_answer(a.request);
}

void Clients::On(NodeId, NotifyClient& a) {
  notices_.push_back({a.client, a.status, a.source});
}

void Clients::On(NodeId, CloseClient& a) { closed_.push_back(a.client); }

// A commit that was to be acknowledged once it is published.
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
    ++ended_[proc][{arrived->op, arrived->participants}];
  }
  pending_.erase(it);
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
    reattached.counts.push_back({series.first, series.second, ended});
  }
  Send(proc, std::move(reattached));
  if (Committed all{client, 0, commits_[proc]}; !all.data.empty()) {
    Send(proc, std::move(all));
  }
  for (auto& [request, asked] : pending_) {
    if (asked.first != proc) continue;
    std::visit(
        [&](auto& in) {
          if constexpr (requires { in.client; }) in.client = client;
        },
        asked.second);
    Send(proc, asked.second);
  }
}

}  // namespace canopy::sim
