#include "server/core/query/queries.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "common/codec/encoder.h"
#include "common/codec/infos.h"
#include "common/host_call.h"
#include "common/status.h"
#include "common/text.h"
#include "common/time_units.h"
#include "common/values/info_list.h"
#include "pmix_common.h"
#include "server/core/query/query_answers.h"
#include "server/core/query/query_keys.h"
#include "server/core/query/usage_report.h"
#include "server/core/query/usage_scope.h"
#include "server/core/step/share.h"

namespace canopy::core {
namespace {

// Maximum number of logged qualifiers that are recorded. It is bounded because
// programs choose the qualifiers.
constexpr size_t kMaxIgnored = 64;
// Marks the number of an AskHost made by a query; HostCalls makes the others.
constexpr uint64_t kOfQuery = uint64_t{1} << 63;
// Stands for the index of a query in the request for the services that the host
// supports.
constexpr size_t kOfSupport = SIZE_MAX;
constexpr int kOperationSucceeded = -157;  // PMIX_OPERATION_SUCCEEDED

bool HasAnswered(int status) {
  return status >= kSuccess || status == kErrPartialSuccess ||
         status == kOperationSucceeded;
}

uint64_t ServicesOf(const HostAnswered& in) {
  InfoList infos;
  if (!HasAnswered(in.status) || !DecodeInfos(in.results.view(), &infos)) {
    return 0;
  }
  const pmix_info_t* const info = infos.Find(PMIX_QUERY_SUPPORTED_KEYS);
  const bool is_there = info != nullptr && info->value.type == PMIX_UINT64;
  return is_there ? info->value.data.uint64 : 0;
}

Bytes CallOf(const std::vector<std::string>& keys, const Query& query) {
  host_call::Query call{{keys.begin(), keys.end()}, query.for_host};
  return Bytes(wire::Encode(call));
}

}  // namespace

Queries::Queries(NodeId self, const std::vector<std::string>& node_names,
                 const Tree& tree, JobTable& jobs, const JobEngine& engine,
                 const ProcessSets& sets)
    : self_(self),
      node_names_(node_names),
      tree_(tree),
      jobs_(jobs),
      engine_(engine),
      sets_(sets),
      service_(self, jobs, engine) {}

// ---------------------------------------------------------------- calls ---

void Queries::OnArrived(const StepContext& step, const QueryArrived& in) {
  const auto refuse = [&](int status) {
    step.out.push_back(ReplyClient{in.client, in.request, status, {}});
  };
  const ProcId* proc = jobs_.ProcOf(in.client);
  if (proc == nullptr) return refuse(kErrInit);
  if (!HasRoomFor(proc->nspace)) return refuse(kErrResourceBusy);
  if (NumOf(*proc) >= kMaxCallsOfProcess) return refuse(kErrOutOfResource);
  Call call;
  call.client = in.client;
  call.request = in.request;
  call.caller = *proc;
  call.uid = jobs_.UserSeenBy(*proc);
  if (call.uid) call.gid = jobs_.OwnerOf(*proc)->gid;
  const Job* job = jobs_.Find(proc->nspace);
  if (job != nullptr) call.host_job = job->spec->host_job;
  call.since = step.now;
  const int status = ParseQueries(in.queries.view(), &call.queries);
  if (status != kSuccess) return refuse(status);
  NoteIgnored(step, call);
  SetDeadline(step.now, &call);
  WantMaps(&call);
  const uint64_t id = next_++;
  calls_.emplace(id, std::move(call));
  Begin(step, id);
}

void Queries::NoteIgnored(const StepContext& step, const Call& call) {
  for (const Query& query : call.queries) {
    for (const std::string& key : query.ignored) {
      if (ignored_.size() >= kMaxIgnored || !ignored_.insert(key).second) {
        continue;
      }
      step.out.push_back(LogLine{LogLine::Level::kInfo,
                                 ToString(call.caller) + ": the directive " +
                                     Printable(key) +
                                     " of PMIx_Query_info is ignored"});
    }
  }
}

void Queries::OnUsageWanted(const StepContext& step, const UsageWanted& in) {
  const auto refuse = [&](int status) {
    step.out.push_back(UsageTaken{in.number, status, {}});
  };
  // A process without an owner has ended since it made the request.
  if (!jobs_.OwnerOf(in.caller)) return refuse(kErrNotFound);
  if (!HasRoomFor(in.caller.nspace)) return refuse(kErrResourceBusy);
  Call call;
  call.caller = in.caller;
  call.uid = jobs_.UserSeenBy(in.caller);
  call.since = step.now;
  call.deadline = step.now + kQueryTime;
  call.usage = in;
  for (const ProcId& proc : in.targets.procs) WantMap(proc.nspace, &call);
  const uint64_t id = next_++;
  calls_.emplace(id, std::move(call));
  Begin(step, id);
}

bool Queries::HasRoomFor(const std::string& nspace) const {
  const auto own = std::ranges::count_if(
      calls_, [&](const auto& e) { return e.second.caller.nspace == nspace; });
  return HasShare(kMaxCalls, calls_.size(), static_cast<size_t>(own));
}

size_t Queries::NumOf(const ProcId& caller) const {
  return static_cast<size_t>(std::ranges::count_if(
      calls_, [&](const auto& e) { return e.second.caller == caller; }));
}

void Queries::SetDeadline(TimeNs now, Call* call) const {
  const bool asks_host = std::ranges::any_of(
      call->queries, [](const Query& q) { return !HostKeys(q).empty(); });
  call->deadline = now + (asks_host ? kHostQueryTime : kQueryTime);
  for (const Query& query : call->queries) {
    if (query.timeout_ms == 0) continue;
    const TimeNs limit = now + query.timeout_ms * kNsPerMs;
    if (limit >= call->deadline) continue;
    call->deadline = limit;
    call->timed = true;
  }
}

void Queries::WantMaps(Call* call) {
  const QueryScope scope = ScopeOf(*call);
  for (const Query& query : call->queries) {
    const std::string& nspace = scope.NspaceOf(query);
    const bool needed =
        !query.local_only && std::ranges::any_of(query.keys, NeedsJob);
    if (needed) WantMap(nspace, call);
  }
}

void Queries::WantMap(const std::string& nspace, Call* call) {
  if (nspace == call->caller.nspace || jobs_.Find(nspace) != nullptr) return;
  if (call->maps.insert(nspace).second) Post(MapWanted{nspace});
}

void Queries::OnJobAdded(const StepContext& step, const std::string& nspace) {
  OnMap(step, nspace);
}

void Queries::OnJobUnknown(const StepContext& step, const std::string& nspace) {
  OnMap(step, nspace);
}

void Queries::OnMap(const StepContext& step, const std::string& nspace) {
  std::vector<uint64_t> ready;
  for (auto& [id, call] : calls_) {
    if (call.maps.erase(nspace) > 0) ready.push_back(id);
  }
  for (const uint64_t id : ready) Begin(step, id);
}

void Queries::Begin(const StepContext& step, uint64_t id) {
  Call& call = calls_.at(id);
  if (!call.maps.empty()) return;
  if (!AskAgents(step, id, &call)) {
    return End(step, id, kErrResourceBusy);
  }
  AskHosts(step, id, &call);
  Advance(step, id);
}

void Queries::Advance(const StepContext& step, uint64_t id) {
  const Call& call = calls_.at(id);
  if (call.asks.empty() && call.hosts.empty() && call.reading == 0) {
    Finish(step, id, true);
  }
}

// Sends the call's requests to agents. Returns false if there would be too many
// requests.
bool Queries::AskAgents(const StepContext& step, uint64_t id, Call* call) {
  const QueryScope scope = ScopeOf(*call);
  if (call->usage) {
    return AskFor(step, id, UsageScope(scope, *call->usage).Asks(), call);
  }
  FactPlan plan(scope, engine_, tree_.root());
  for (const Query& query : call->queries) plan.Add(query);
  if (!HasRoom(plan.asks())) return false;
  ReadData(step, id, plan, call);
  return AskFor(step, id, plan.asks(), call);
}

bool Queries::HasRoom(const Asks& asks) const {
  const size_t limit = std::max(kMaxAsks, 2 * size_t{tree_.size()});
  return call_of_.size() + asks.size() <= limit;
}

bool Queries::AskFor(const StepContext& step, uint64_t id, const Asks& requests,
                     Call* call) {
  if (!HasRoom(requests)) return false;
  for (const auto& [node, request] : requests) {
    if (node != self_ && !tree_.alive(node)) continue;
    Ask ask{node, request};
    ask.request.request = next_++;
    call_of_[ask.request.request] = id;
    call->asks.emplace(ask.request.request, ask);
  }
  const std::map<uint64_t, Ask> asks = call->asks;
  // An answer from this agent itself arrives during Send and changes
  // call->asks.
  for (const auto& [number, ask] : asks) Send(step, ask);
  return true;
}

void Queries::AskHosts(const StepContext& step, uint64_t id, Call* call) {
  for (size_t i = 0; i < call->queries.size(); ++i) {
    const Query& query = call->queries[i];
    const std::vector<std::string> keys = HostKeys(query);
    if (!keys.empty()) AskHostFor(step, id, i, CallOf(keys, query), call);
  }
  if (std::ranges::any_of(call->queries, IsOfSupport)) {
    AskHostFor(step, id, kOfSupport, CallOf({PMIX_QUERY_SUPPORTED_KEYS}, {}),
               call);
  }
}

void Queries::AskHostFor(const StepContext& step, uint64_t id, size_t query,
                         Bytes keys, Call* call) {
  AskHost ask;
  ask.number = kOfQuery | next_++;
  ask.op = HostOp::kQuery;
  ask.source = call->caller;
  ask.uid = call->uid.value_or(kAgentsUser);
  ask.gid = call->gid;
  ask.call = std::move(keys);
  ask.host_job = call->host_job;
  call->hosts[ask.number] = query;
  call_of_[ask.number] = id;
  step.out.push_back(std::move(ask));
}

void Queries::ReadData(const StepContext& step, uint64_t id,
                       const FactPlan& plan, Call* call) {
  if (plan.keys().empty()) return;
  // Data of another job may not have been registered with the data store yet.
  for (const std::string& nspace : plan.nspaces()) {
    jobs_.Register(nspace, &step.out);
  }
  ReadFacts read;
  read.number = next_++;
  read.keys = plan.keys();
  call->reading = read.number;
  call_of_[read.number] = id;
  step.out.push_back(std::move(read));
}

void Queries::Send(const StepContext& step, const Ask& ask) {
  if (ask.node != self_) {
    step.out.push_back(SendPeer{PeerMessage{self_, ask.node, ask.request}});
    return;
  }
  auto reply = service_.OnRequest(step, self_, ask.request, next_++);
  if (!reply) return;
  const auto it = calls_.find(call_of_[ask.request.request]);
  Take(self_, *reply, &it->second);
  it->second.asks.erase(reply->request);
  call_of_.erase(reply->request);
}

// ----------------------------------------------------------------- facts ---

void Queries::OnRequest(const StepContext& step, NodeId src,
                        const FactsRequest& request) {
  auto reply = service_.OnRequest(step, src, request, next_++);
  if (reply) Note(step, src, *std::move(reply));
}

void Queries::OnProcesses(const StepContext& step, const std::string& nspace) {
  Serve(step, service_.TakeStarted(nspace));
}

void Queries::Serve(const StepContext& step,
                    const std::vector<FactsService::Request>& requests) {
  for (const FactsService::Request& request : requests) {
    auto reply = service_.Answer(step, request.src, request.facts, next_++);
    if (reply) Note(step, request.src, *std::move(reply));
  }
}

// Delivers an answer of this agent to the agent that requested it.
void Queries::Note(const StepContext& step, NodeId src, FactsReply reply) {
  if (src == self_) return OnReply(step, self_, reply);
  step.out.push_back(SendPeer{PeerMessage{self_, src, std::move(reply)}});
}

void Queries::OnReply(const StepContext& step, NodeId src,
                      const FactsReply& reply) {
  const auto number = call_of_.find(reply.request);
  if (number == call_of_.end()) return;
  const uint64_t id = number->second;
  Call& call = calls_.at(id);
  const auto ask = call.asks.find(reply.request);
  if (ask == call.asks.end() || ask->second.node != src) return;
  Take(src, reply, &call);
  call.asks.erase(reply.request);
  call_of_.erase(reply.request);
  Advance(step, id);
}

// One request is for the local jobs, another for the jobs that the root knows;
// if this agent is the root, one answer serves both.
void Queries::TakeJobs(NodeId src, const FactsReply& reply,
                       const FactsRequest& request, Call* call) const {
  std::map<std::string, JobFacts> jobs;
  for (const JobFacts& job : reply.jobs) {
    if (!request.nspace.empty() && job.nspace != request.nspace) continue;
    jobs[job.nspace] = job;
  }
  GatheredFacts& facts = call->facts;
  if (!request.nspace.empty()) return facts.controlled.merge(jobs);
  if (src == self_) facts.local_jobs = jobs;
  if (src == tree_.root()) facts.all_jobs = std::move(jobs);
}

// An agent may report only about its own node, and only the facts that were
// requested.
void Queries::Take(NodeId src, const FactsReply& reply, Call* call) const {
  const FactsRequest& request = call->asks.at(reply.request).request;
  call->too_many_jobs |= reply.status == kErrOutOfResource;
  if (reply.status != kSuccess) return;
  if (request.node) call->facts.memory[src] = reply.memory;
  if (request.usage.of_node()) call->facts.usage[src] = reply.usage;
  if (request.jobs) return TakeJobs(src, reply, request, call);
  const Job* job = jobs_.Find(request.nspace);
  if (job == nullptr) return;
  auto& processes = call->facts.processes[request.nspace];
  for (const ProcessFacts& process : reply.processes) {
    if (process.rank >= job->num_ranks()) continue;
    if (job->agent_of(process.rank) == src) processes[process.rank] = process;
  }
}

void Queries::OnRead(const StepContext& step, const FactsRead& read) {
  if (auto measured = service_.OnRead(read)) {
    return Note(step, measured->first, std::move(measured->second));
  }
  const auto number = call_of_.extract(read.number);
  if (number.empty()) return;
  Call& call = calls_.at(number.mapped());
  call.reading = 0;
  if (read.too_much) {
    return End(step, number.mapped(), kErrOutOfResource);
  }
  call.facts.data = read.values;
  Advance(step, number.mapped());
}

bool Queries::OnHostAnswered(const StepContext& step, const HostAnswered& in) {
  if ((in.number & kOfQuery) == 0) return false;
  const auto number = call_of_.extract(in.number);
  if (number.empty()) return true;
  Call& call = calls_.at(number.mapped());
  const size_t query = call.hosts.extract(in.number).mapped();
  if (query == kOfSupport) {
    call.facts.host_services = ServicesOf(in);
    Advance(step, number.mapped());
    return true;
  }
  InfoList infos;
  int status = in.status;
  if (HasAnswered(status) && !in.results.empty() &&
      !DecodeInfos(in.results.view(), &infos)) {
    status = kErrUnpackFailure;
  }
  if (HasAnswered(status)) {
    for (const pmix_info_t& info : infos) {
      if (!IsForHost(KeyOf(info)) || info.value.type == PMIX_UNDEF) continue;
      call.facts.host.try_emplace({query, std::string(KeyOf(info))},
                                  EncodeValue(info.value));
    }
  } else if (status != kErrNotFound && call.host_status == kSuccess) {
    call.host_status = status;
  }
  Advance(step, number.mapped());
  return true;
}

// ------------------------------------------------------------------ ends ---

void Queries::Finish(const StepContext& step, uint64_t id, bool in_time) {
  Call& call = calls_.at(id);
  if (call.usage) return FinishUsage(step, id);
  if (!in_time && call.timed) return End(step, id, kErrTimeout);
  if (call.too_many_jobs) return End(step, id, kErrOutOfResource);
  if (!call.hosts.empty() && call.host_status == kSuccess) {
    call.host_status = kErrTimeout;
  }
  const QueryScope scope = ScopeOf(call);
  QueryAnswers answers(scope, call.facts, sets_.sets());
  for (const Query& query : call.queries) answers.Answer(query);
  int status = answers.writer().status();
  // No key has an answer, and the host reported why.
  if (status == kErrNotFound && call.host_status != kSuccess) {
    status = call.host_status;
  }
  Reply(step, call, status, answers.writer().Take());
  End(step, id, kSuccess);
}

// Processes of agents that have not answered in time are left out.
void Queries::FinishUsage(const StepContext& step, uint64_t id) {
  const Call& call = calls_.at(id);
  const QueryScope scope = ScopeOf(call);
  const UsageScope usage(scope, *call.usage);
  Bytes results;
  int status = usage.status();
  if (call.too_many_jobs) status = kErrOutOfResource;
  if (status == kSuccess) {
    status =
        UsageReport(node_names_, *call.usage, call.facts).Make(usage, &results);
  }
  Reply(step, call, status, std::move(results));
  End(step, id, kSuccess);
}

void Queries::Reply(const StepContext& step, const Call& call, int status,
                    Bytes payload) {
  if (call.usage) {
    step.out.push_back(
        UsageTaken{call.usage->number, status, std::move(payload)});
  } else {
    step.out.push_back(
        ReplyClient{call.client, call.request, status, std::move(payload)});
  }
}

void Queries::End(const StepContext& step, uint64_t id, int status) {
  const auto call = calls_.extract(id);
  for (const auto& [number, ask] : call.mapped().asks) call_of_.erase(number);
  for (const auto& [number, query] : call.mapped().hosts) {
    call_of_.erase(number);
  }
  call_of_.erase(call.mapped().reading);
  if (status == kSuccess) return;
  Reply(step, call.mapped(), status, {});
}

void Queries::OnClientGone(const StepContext& step, ClientId client) {
  Actions none;
  const StepContext unheard{step.now, none, step.events};
  std::vector<uint64_t> gone;
  for (const auto& [id, call] : calls_) {
    if (call.client == client) gone.push_back(id);
  }
  for (const uint64_t id : gone) End(unheard, id, kSuccess);
}

void Queries::OnNodeLost(const StepContext& step, const NodeStateChanged& in) {
  const NodeId node = in.node;
  service_.OnNodeLost(node);
  std::vector<uint64_t> changed;
  for (auto& [id, call] : calls_) {
    const size_t lost = std::erase_if(call.asks, [&](const auto& entry) {
      if (entry.second.node != node) return false;
      call_of_.erase(entry.first);
      return true;
    });
    if (lost > 0) changed.push_back(id);
  }
  for (const uint64_t id : changed) Advance(step, id);
  // Requests to other agents, or their answers, may have been lost on their way
  // through that node.
  OnNodeRestarted(step, node);
}

void Queries::OnNodeRestarted(const StepContext& step, NodeId) {
  for (const auto& [id, call] : calls_) {
    for (const auto& [number, ask] : call.asks) {
      if (ask.node == self_) continue;
      step.out.push_back(SendPeer{PeerMessage{self_, ask.node, ask.request}});
    }
  }
}

void Queries::OnTick(const StepContext& step) {
  Serve(step, service_.TakeLate(step.now));
  std::vector<uint64_t> late;
  for (const auto& [id, call] : calls_) {
    if (call.deadline <= step.now) late.push_back(id);
  }
  for (const uint64_t id : late) Finish(step, id, false);
}

TimeNs Queries::NextDeadline() const {
  TimeNs next = service_.NextDeadline();
  for (const auto& [id, call] : calls_) next = std::min(next, call.deadline);
  return next;
}

void Queries::Describe(TimeNs now, const std::string& nspace,
                       std::vector<Waiting>* out) const {
  for (const auto& [id, call] : calls_) {
    if (!nspace.empty() && call.caller.nspace != nspace) continue;
    Waiting waiting;
    waiting.nspace = call.caller.nspace;
    waiting.operation = "query by rank " + std::to_string(call.caller.rank);
    waiting.callers = 1;
    waiting.age_ms = static_cast<uint64_t>((now - call.since) / kNsPerMs);
    out->push_back(std::move(waiting));
  }
}

}  // namespace canopy::core
