// The jobs with ranks on this node, as an endpoint knows them.
#ifndef CANOPY_SERVER_ENDPOINT_LOCAL_PROCESSES_H_
#define CANOPY_SERVER_ENDPOINT_LOCAL_PROCESSES_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "common/ids.h"
#include "common/job.h"
#include "server/core/step/job_actions.h"

namespace canopy::endpoint {

// Jobs by namespace, each with its ranks on this node. An endpoint adds its own
// data: `JobState` to each job and `RankState` to each rank; both must be
// default-constructible. Pointers are valid until their job is dropped. Loop
// thread only.
template <typename JobState, typename RankState>
class LocalProcesses {
 public:
  struct Process : RankState {
    int pid = 0;  // 0: not known yet
  };
  struct Job : JobState {
    std::shared_ptr<const JobSpec> spec;
    std::shared_ptr<const JobLayout> layout;
    std::map<Rank, Process> ranks;  // those on this node
  };

  explicit LocalProcesses(NodeId self) : self_(self) {}

  // Adds a job, or replaces a job of the same name.
  Job& Add(const core::RegisterJob& registration) {
    Job job;
    job.spec = registration.job;
    job.layout = registration.layout;
    for (const Rank rank : job.layout->ranks_of_agent(self_)) job.ranks[rank];
    return jobs_[registration.job->nspace] = std::move(job);
  }
  void Drop(const std::string& nspace) { jobs_.erase(nspace); }

  // Returns null if there is no such job.
  Job* Find(const std::string& nspace) {
    const auto it = jobs_.find(nspace);
    return it == jobs_.end() ? nullptr : &it->second;
  }
  const Job* Find(const std::string& nspace) const {
    const auto it = jobs_.find(nspace);
    return it == jobs_.end() ? nullptr : &it->second;
  }
  // Return null if the rank does not run on this node.
  Process* FindRank(const ProcId& proc) {
    Job* job = Find(proc.nspace);
    if (job == nullptr) return nullptr;
    const auto rank = job->ranks.find(proc.rank);
    return rank == job->ranks.end() ? nullptr : &rank->second;
  }
  const Process* FindRank(const ProcId& proc) const {
    return const_cast<LocalProcesses*>(this)->FindRank(proc);
  }
  // Sets the pid of a rank's process. Returns false if the rank does not run on
  // this node.
  bool SetPid(const ProcId& proc, int pid) {
    Process* process = FindRank(proc);
    if (process != nullptr) process->pid = pid;
    return process != nullptr;
  }

  // Returns true if one of the jobs belongs to that user.
  bool HasJobOf(uint32_t uid) const {
    return std::ranges::any_of(
        jobs_, [uid](const auto& job) { return job.second.spec->uid == uid; });
  }

  NodeId self() const { return self_; }
  // Returns all jobs, by namespace.
  const std::unordered_map<std::string, Job>& jobs() const { return jobs_; }

 private:
  const NodeId self_;
  std::unordered_map<std::string, Job> jobs_;
};

}  // namespace canopy::endpoint

#endif  // CANOPY_SERVER_ENDPOINT_LOCAL_PROCESSES_H_
