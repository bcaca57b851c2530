#include "server/core/query/facts_service.h"

#include <algorithm>
#include <utility>

#include "common/status.h"
#include "common/time_units.h"
#include "server/core/query/process_states.h"

namespace canopy::core {

std::optional<FactsReply> FactsService::OnRequest(const StepContext& step,
                                                  NodeId src,
                                                  const FactsRequest& request,
                                                  uint64_t number) {
  if (!NamesStarting(request) || awaiting_.size() >= kMaxAwaiting) {
    return Answer(step, src, request, number);
  }
  awaiting_.push_back({src, request, step.now + kStartTime});
  return std::nullopt;
}

bool FactsService::NamesStarting(const FactsRequest& request) const {
  const Job* job = request.jobs ? nullptr : jobs_.Find(request.nspace);
  if (job == nullptr) return false;
  return std::ranges::any_of(job->local_ranks(), [&](Rank rank) {
    return (request.rank == kRankWildcard || request.rank == rank) &&
           IsStarting(*job, rank);
  });
}

std::vector<FactsService::Request> FactsService::Take(
    const std::function<bool(const Request&)>& which) {
  std::vector<Request> taken;
  std::erase_if(awaiting_, [&](const Request& request) {
    if (!which(request)) return false;
    taken.push_back(request);
    return true;
  });
  return taken;
}

std::vector<FactsService::Request> FactsService::TakeStarted(
    const std::string& nspace) {
  return Take([&](const Request& request) {
    return request.facts.nspace == nspace && !NamesStarting(request.facts);
  });
}

std::vector<FactsService::Request> FactsService::TakeLate(TimeNs now) {
  return Take([now](const Request& request) { return request.until <= now; });
}

TimeNs FactsService::NextDeadline() const {
  // The first request has waited longest.
  return awaiting_.empty() ? kNever : awaiting_.front().until;
}

std::optional<FactsReply> FactsService::Answer(const StepContext& step,
                                               NodeId src,
                                               const FactsRequest& request,
                                               uint64_t number) {
  FactsReply reply;
  reply.request = request.request;
  AddProcesses(request, &reply);
  if (request.jobs) AddJobs(step.now, request, &reply);
  const bool measures = request.memory || request.node || request.usage.any();
  if (!measures) return reply;
  if (measured_.size() >= kMaxMeasurements) {
    reply.status = kErrResourceBusy;
    return reply;
  }
  ReadFacts read;
  read.number = number;
  read.usage = request.usage;
  Measured measured{src, {}, {}, {}};
  if (request.memory) measured.processes = AddRunning(reply, &read.pids);
  if (request.usage.proc != 0) {
    measured.users = AddRunning(reply, &read.users);
  }
  read.agent = request.node;
  if (request.node) AddClients(&read.pids);
  measured.reply = std::move(reply);
  measured_.emplace(number, std::move(measured));
  step.out.push_back(std::move(read));
  return std::nullopt;
}

std::vector<size_t> FactsService::AddRunning(const FactsReply& reply,
                                             std::vector<int>* pids) {
  std::vector<size_t> indices;
  for (size_t i = 0; i < reply.processes.size(); ++i) {
    const ProcessFacts& process = reply.processes[i];
    if (process.pid == 0 || HasEnded(process)) continue;
    pids->push_back(process.pid);
    indices.push_back(i);
  }
  return indices;
}

void FactsService::AddProcesses(const FactsRequest& request,
                                FactsReply* reply) const {
  const Job* job = request.jobs ? nullptr : jobs_.Find(request.nspace);
  if (job == nullptr) return;
  for (const Rank rank : job->local_ranks()) {
    if (request.rank != kRankWildcard && request.rank != rank) continue;
    const bool connected = !jobs_.ClientsOf({request.nspace, rank}).empty();
    reply->processes.push_back(FactsOfLocal(*job, rank, connected));
  }
}

void FactsService::AddJobs(TimeNs now, const FactsRequest& request,
                           FactsReply* reply) const {
  if (!request.nspace.empty()) return AddControlled(now, request.nspace, reply);
  if (jobs_.jobs().size() > kMaxJobFacts) {
    reply->status = kErrOutOfResource;
    return;
  }
  for (const auto& [nspace, job] : jobs_.jobs()) {
    reply->jobs.push_back(
        {nspace, job.spec->uid, engine_.StatusOf(nspace),
         request.rank == kNamesOnly ? std::string() : CommandLine(*job.spec)});
  }
}

// Adds the facts of the job if this agent controls it, because only the
// controller knows the job's status.
void FactsService::AddControlled(TimeNs now, const std::string& nspace,
                                 FactsReply* reply) const {
  const Job* job = jobs_.Find(nspace);
  if (job == nullptr || engine_.ControllerOf(nspace) != self_) return;
  JobFacts facts{nspace, job->spec->uid, engine_.StatusOf(nspace), ""};
  const TimeNs ends = engine_.EndsAt(nspace);
  if (ends != kNever) {
    facts.ends_in_ms =
        static_cast<uint64_t>(std::max<TimeNs>((ends - now) / kNsPerMs, 1));
  }
  reply->jobs.push_back(std::move(facts));
}

// Adds the PIDs of running processes. A process that has ended has no memory,
// and its PID may have been reused.
void FactsService::AddClients(std::vector<int>* pids) const {
  for (const auto& [nspace, job] : jobs_.jobs()) {
    for (const auto& [rank, process] : job.processes) {
      if (process.pid == 0 || process.exit_code) continue;
      pids->push_back(process.pid);
    }
  }
}

std::optional<std::pair<NodeId, FactsReply>> FactsService::OnRead(
    const FactsRead& read) {
  const auto it = measured_.find(read.number);
  if (it == measured_.end()) return std::nullopt;
  Measured measured = std::move(it->second);
  measured_.erase(it);
  FactsReply& reply = measured.reply;
  const size_t named = measured.processes.size();
  for (size_t i = 0; i < read.pids.size(); ++i) {
    if (i < named) {
      reply.processes[measured.processes[i]].resident = read.pids[i];
    } else if (read.pids[i] != 0) {
      reply.memory.clients += read.pids[i];
      ++reply.memory.num_clients;
    }
  }
  reply.memory.agent = read.agent;
  const size_t users = std::min(measured.users.size(), read.users.size());
  for (size_t i = 0; i < users; ++i) {
    reply.processes[measured.users[i]].usage = read.users[i];
  }
  reply.usage = read.node;
  return std::pair(measured.src, std::move(reply));
}

void FactsService::OnNodeLost(NodeId node) {
  std::erase_if(measured_,
                [node](const auto& e) { return e.second.src == node; });
  std::erase_if(awaiting_, [node](const Request& r) { return r.src == node; });
}

}  // namespace canopy::core
