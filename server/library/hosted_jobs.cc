#include "server/library/hosted_jobs.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "common/values/value.h"

namespace canopy::library {
namespace {

// Returns this node's index in the job. If the host has not registered the
// index, returns that of the node of the job's local clients.
uint32_t OwnNode(const HostedJob& job) {
  if (job.told->self_node != kNoNode) return job.told->self_node;
  const std::vector<ProcPlacement>& procs = job.told->job.procs;
  for (const auto& [rank, client] : job.clients) {
    if (rank < procs.size()) return procs[rank].node;
  }
  return kNoNode;
}

bool IsHere(const HostedJob& job, Rank rank) {
  return rank < job.spec->procs.size() &&
         job.spec->nodes[job.spec->procs[rank].node].agent == kSelf;
}

bool IsAllHere(const HostedJob& job) {
  return std::ranges::all_of(
      job.spec->nodes, [](const JobNode& node) { return node.agent == kSelf; });
}

}  // namespace

Status HostedJobs::AddJob(registration::Registration told) {
  HostedJob& job = jobs_[told.job.nspace];
  if (job.told != nullptr) {
    return Status(kErrExists, told.job.nspace + " is registered already");
  }
  job.told =
      std::make_shared<const registration::Registration>(std::move(told));
  return Status();
}

void HostedJobs::AddClient(const ProcId& proc, uint32_t uid, uint32_t gid,
                           void* object) {
  jobs_[proc.nspace].clients[proc.rank] = {ToC(proc), uid, gid, object};
}

void HostedJobs::RemoveClient(const ProcId& proc) {
  HostedJob* job = Find(proc.nspace);
  if (job == nullptr) return;
  job->clients.erase(proc.rank);
  if (job->told == nullptr && job->clients.empty()) jobs_.erase(proc.nspace);
}

HostedJob* HostedJobs::Find(const std::string& nspace) {
  const auto it = jobs_.find(nspace);
  return it == jobs_.end() ? nullptr : &it->second;
}

const HostedJob* HostedJobs::Find(const std::string& nspace) const {
  const auto it = jobs_.find(nspace);
  return it == jobs_.end() ? nullptr : &it->second;
}

const HostedClient* HostedJobs::FindClient(const ProcId& proc) const {
  const HostedJob* job = Find(proc.nspace);
  if (job == nullptr) return nullptr;
  const auto it = job->clients.find(proc.rank);
  return it == job->clients.end() ? nullptr : &it->second;
}

Result<NodeId> HostedJobs::MemberNamed(const std::string& name) {
  const auto it = members_.find(name);
  if (it != members_.end()) return it->second;
  const NodeId next = kFirstOther + static_cast<NodeId>(members_.size());
  if (next >= kMaxMembers) {
    return Status(kErrOutOfResource, "too many nodes for one server");
  }
  members_[name] = next;
  return next;
}

Status HostedJobs::PlaceNodes(const HostedJob& job, JobSpec* spec) {
  const uint32_t own = OwnNode(job);
  for (uint32_t node = 0; node < spec->nodes.size(); ++node) {
    NodeId member = kSelf;
    if (node != own) {
      const Result<NodeId> other = MemberNamed(spec->nodes[node].name);
      if (!other.ok()) return other.status();
      member = *other;
    }
    spec->nodes[node].agent = member;
  }
  return Status();
}

Status HostedJobs::MakeSpec(const std::string& nspace) {
  HostedJob* job = Find(nspace);
  if (job == nullptr || job->told == nullptr || job->told->no_data) {
    return Status(kErrNotFound, "nothing is known of " + nspace);
  }
  auto spec = std::make_shared<JobSpec>(job->told->job);
  const Status placed = PlaceNodes(*job, spec.get());
  if (!placed.ok()) return placed;
  spec->uid = geteuid();
  spec->gid = getegid();
  if (!job->clients.empty()) {
    spec->uid = job->clients.begin()->second.uid;
    spec->gid = job->clients.begin()->second.gid;
  }
  job->spec = std::move(spec);
  return Status();
}

NodeId HostedJobs::MemberOf(const ProcId& proc) const {
  const HostedJob* job = Find(proc.nspace);
  if (job == nullptr || job->spec == nullptr ||
      proc.rank >= job->spec->procs.size()) {
    return kNoNode;
  }
  return job->spec->nodes[job->spec->procs[proc.rank].node].agent;
}

bool HostedJobs::AreHere(std::span<const ProcId> procs) const {
  return std::ranges::all_of(procs, [this](const ProcId& proc) {
    const HostedJob* job = Find(proc.nspace);
    if (job == nullptr || job->spec == nullptr) return false;
    return proc.rank == kRankWildcard ? IsAllHere(*job)
                                      : IsHere(*job, proc.rank);
  });
}

}  // namespace canopy::library
