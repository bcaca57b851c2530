#include "server/core/spawn/spawns.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/job.h"
#include "common/status.h"
#include "server/core/request_number.h"
#include "server/core/spawn/tool_spawns.h"

namespace canopy::core {

Spawns::Spawns(NodeId self, JobTable& jobs, const JobEngine& engine)
    : self_(self), jobs_(jobs), engine_(engine) {}

// ------------------------------------------------------ spawner's agent ---

void Spawns::OnArrived(const StepContext& step, const SpawnArrived& in) {
  const auto refuse = [&](int status) {
    step.out.push_back(ReplyClient{in.client, in.request, status, {}});
  };
  const ProcId* proc = jobs_.ProcOf(in.client);
  if (proc == nullptr) return refuse(kErrInit);
  const Id id{*proc, NumberOf(*proc, in.request)};
  const auto known = held_.find(id);
  if (known != held_.end()) {
    known->second.client = in.client;
    known->second.request = in.request;
    return;
  }
  if (in.call.size() > kMaxCall || NumHeld(*proc) >= kMaxHeld) {
    return refuse(kErrOutOfResource);
  }
  const auto it =
      held_.emplace(id, Held{in.client, in.request, in.call, step.now}).first;
  Send(step, it->first, it->second);
}

RequestId Spawns::NumberOf(const ProcId& proc, RequestId request) const {
  if (jobs_.Find(proc.nspace) == nullptr) return kSpawnsOfTools + request;
  return RequestNumber(jobs_, proc, request);
}

size_t Spawns::NumHeld(const ProcId& proc) const {
  const auto first = held_.lower_bound({proc, 0});
  size_t count = 0;
  for (auto it = first; it != held_.end() && it->first.proc == proc; ++it) {
    ++count;
  }
  return count;
}

// The leader may change while it executes a spawn of a tool, so the tool's
// spawns stay with the agent that has executed the first one.
NodeId Spawns::ExecutorOf(const ProcId& spawner) const {
  const auto executor = executors_.find(spawner);
  return executor == executors_.end() ? engine_.ControllerOf(spawner.nspace)
                                      : executor->second;
}

void Spawns::Send(const StepContext& step, const Id& id, const Held& held) {
  SpawnRequest request{id.proc, id.request, held.call};
  if (const std::optional<Owner> owner = jobs_.OtherOwnerOf(id.proc)) {
    request.has_owner = true;
    request.uid = owner->uid;
    request.gid = owner->gid;
  }
  const NodeId executor = ExecutorOf(id.proc);
  if (IsOfTool(id.request)) executors_.emplace(id.proc, executor);
  if (executor == self_) return OnRequest(step, self_, request);
  step.out.push_back(
      SendPeer{PeerMessage{self_, executor, std::move(request)}});
}

void Spawns::SendAgain(const StepContext& step) {
  for (const auto& [id, held] : held_) {
    // A request that this agent executes itself is not lost. If it were sent
    // again, its answer would change `held_` in this loop.
    if (ExecutorOf(id.proc) != self_) Send(step, id, held);
  }
}

bool Spawns::Awaits(NodeId src, const SpawnReply& reply) const {
  return held_.contains({reply.proc, reply.request}) &&
         src == ExecutorOf(reply.proc);
}

void Spawns::OnReply(const StepContext& step, const SpawnReply& reply) {
  const auto held = held_.extract({reply.proc, reply.request});
  if (held.empty()) return;
  // The spawner will query the job, so the job's data must be available.
  if (reply.status == kSuccess) jobs_.Register(reply.nspace, &step.out);
  step.out.push_back(ReplyClient{held.mapped().client, held.mapped().request,
                                 reply.status, Bytes(reply.nspace)});
}

// A tool's spawns end with the tool. The leader is notified even if this agent
// holds no spawn of the tool, because this agent may be a successor that does
// not know of the spawns.
void Spawns::OnClientGone(const StepContext& step, ClientId client) {
  std::erase_if(held_, [client](const auto& entry) {
    return entry.second.client == client;
  });
  const ProcId* proc = jobs_.ProcOf(client);
  if (proc == nullptr || jobs_.Find(proc->nspace) != nullptr) return;
  const SpawnRequest gone{*proc, kSpawnsOfTools, {}};
  const NodeId executor = ExecutorOf(*proc);
  executors_.erase(*proc);
  if (executor == self_) return OnToolGone(step, self_, *proc);
  step.out.push_back(SendPeer{PeerMessage{self_, executor, gone}});
}

void Spawns::Describe(TimeNs now, const std::string& nspace,
                      std::vector<Waiting>* out) const {
  for (const auto& [id, held] : held_) {
    if (!nspace.empty() && id.proc.nspace != nspace) continue;
    Waiting waiting;
    waiting.nspace = id.proc.nspace;
    waiting.operation = "spawn by rank " + std::to_string(id.proc.rank);
    waiting.callers = 1;
    waiting.age_ms = static_cast<uint64_t>(now - held.since) / 1'000'000;
    out->push_back(std::move(waiting));
  }
}

// ---------------------------------------------------------- controller ---

void Spawns::OnRequest(const StepContext& step, NodeId src,
                       const SpawnRequest& request) {
  if (IsOfTool(request.request)) return OnToolRequest(step, src, request);
  const Job* job = jobs_.Find(request.proc.nspace);
  // If the job is unknown, its processes are being ended. An agent may only
  // send requests of its own processes.
  if (job == nullptr || request.proc.rank >= job->num_ranks() ||
      job->agent_of(request.proc.rank) != src) {
    return;
  }
  Execute(step, request);
}

// A tool has no job that an agent controls, so the agent that receives the
// tool's first request executes its spawns. Another agent with a different view
// of the leader has chosen this agent, and sends it all later requests.
void Spawns::OnToolRequest(const StepContext& step, NodeId src,
                           const SpawnRequest& request) {
  const auto known = tools_.find(request.proc);
  if (known != tools_.end() && known->second != src) return;
  if (request.call.empty()) return OnToolGone(step, src, request.proc);
  if (jobs_.Find(request.proc.nspace) != nullptr) return;
  tools_[request.proc] = src;
  Execute(step, request);
}

void Spawns::OnToolGone(const StepContext& step, NodeId src,
                        const ProcId& tool) {
  const auto known = tools_.find(tool);
  if (known == tools_.end() || known->second != src) return;
  tools_.erase(known);
  answers_.erase(tool);
  std::erase_if(executing_, [&](const Id& id) { return id.proc == tool; });
  step.out.push_back(HostSpawn{tool, kSpawnsOfTools, {}});
}

void Spawns::OnNodeLost(const StepContext& step, const NodeStateChanged& in) {
  std::erase_if(executors_,
                [&](const auto& tool) { return tool.second == in.node; });
  std::vector<ProcId> gone;
  for (const auto& [tool, at] : tools_) {
    if (at == in.node) gone.push_back(tool);
  }
  for (const ProcId& tool : gone) OnToolGone(step, in.node, tool);
}

// Executes the request, or answers it again if it was executed before.
void Spawns::Execute(const StepContext& step, const SpawnRequest& request) {
  const Id id{request.proc, request.request};
  if (executing_.contains(id)) return;
  if (const SpawnDone* answer = FindAnswer(id)) return Answer(step, *answer);
  if (request.call.size() > kMaxCall) return;
  executing_.insert(id);
  HostSpawn spawn{id.proc, id.request, request.call};
  if (request.has_owner) spawn.owner = Owner{request.uid, request.gid};
  step.out.push_back(std::move(spawn));
}

const SpawnDone* Spawns::FindAnswer(const Id& id) const {
  const auto answers = answers_.find(id.proc);
  if (answers == answers_.end()) return nullptr;
  const auto it =
      std::ranges::find(answers->second, id.request, &SpawnDone::request);
  return it == answers->second.end() ? nullptr : &*it;
}

void Spawns::OnDone(const StepContext& step, const SpawnDone& in) {
  // The result is dropped if the spawner's job is over. A successor may receive
  // the result of its predecessor's spawn before it knows the spawner's job;
  // such a result is awaited.
  const bool awaited = executing_.erase({in.proc, in.request}) > 0;
  if (!awaited && jobs_.Find(in.proc.nspace) == nullptr) return;
  std::deque<SpawnDone>& answers = answers_[in.proc];
  answers.push_back(in);
  if (answers.size() > kMaxHeld) answers.pop_front();
  Answer(step, in);
}

void Spawns::Answer(const StepContext& step, const SpawnDone& done) {
  const NodeId agent = AgentOf(done.proc);
  if (agent == kNoNode) return;
  SpawnReply reply{done.proc, done.request, done.status, done.nspace, {}};
  if (agent == self_) return OnReply(step, reply);
  if (const Job* job = jobs_.Find(done.nspace)) {
    reply.spec = Bytes(EncodeJobSpec(*job->spec));
    jobs_.AddReader(done.nspace, agent);
  }
  step.out.push_back(SendPeer{PeerMessage{self_, agent, std::move(reply)}});
}

// Returns the agent of a spawner; kNoNode if it is no longer known.
NodeId Spawns::AgentOf(const ProcId& proc) const {
  const auto tool = tools_.find(proc);
  if (tool != tools_.end()) return tool->second;
  const Job* job = jobs_.Find(proc.nspace);
  return job == nullptr || proc.rank >= job->num_ranks()
             ? kNoNode
             : job->agent_of(proc.rank);
}

void Spawns::OnRecovered(const SpawnRecovered& in) {
  executing_.insert({in.proc, in.request});
}

void Spawns::OnJobRemoved(const StepContext& /*step*/, const RemovedJob& job) {
  const auto is_of_job = [&](const ProcId& proc) {
    return proc.nspace == job.nspace;
  };
  std::erase_if(held_, [&](const auto& e) { return is_of_job(e.first.proc); });
  std::erase_if(executing_, [&](const Id& id) { return is_of_job(id.proc); });
  std::erase_if(answers_, [&](const auto& e) { return is_of_job(e.first); });
}

}  // namespace canopy::core
