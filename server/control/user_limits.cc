#include "server/control/user_limits.h"

#include <string>

#include "server/control/placement_request.h"

namespace canopy::control {
namespace {

// `what` is "jobs" or "processes".
Status Refusal(const std::string& what, const char* setting, uint64_t limit,
               const std::string& in_use) {
  return {kErrOutOfResource, "the limit of " + what + " for each user (" +
                                 setting + ") is " + std::to_string(limit) +
                                 " on this overlay; " + in_use};
}

std::string InUse(uint32_t uid, uint64_t count) {
  return "user " + std::to_string(uid) + " has " + std::to_string(count) +
         ", running or queued";
}

}  // namespace

std::map<uint32_t, UserLoad> LoadOfUsers(const JobRecords& jobs,
                                         const Placements& queued) {
  std::map<uint32_t, UserLoad> loads;
  const auto add = [&loads](uint32_t uid, uint64_t procs) {
    ++loads[uid].jobs;
    loads[uid].procs += procs;
  };
  for (const auto& [nspace, record] : jobs) {
    add(record.job->uid, record.job->procs.size());
  }
  queued.ForEach([&](const QueuedJob& job) {
    add(job.request.caller.uid, NumProcs(job.request));
  });
  return loads;
}

UserLoad LoadOf(uint32_t uid, const JobRecords& jobs,
                const Placements& queued) {
  return LoadOfUsers(jobs, queued)[uid];
}

Status CheckUserLimits(uint32_t uid, const UserLoad& load, const UserLoad& more,
                       const UserLimits& limits) {
  if (load.jobs + more.jobs > limits.jobs) {
    return Refusal("jobs", "max-jobs-per-user", limits.jobs,
                   InUse(uid, load.jobs));
  }
  if (load.procs + more.procs > limits.procs) {
    return Refusal("processes", "max-procs-per-user", limits.procs,
                   InUse(uid, load.procs) + ", and this job would add " +
                       std::to_string(more.procs));
  }
  return Status();
}

}  // namespace canopy::control
