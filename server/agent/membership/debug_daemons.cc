#include "server/agent/membership/debug_daemons.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "common/job.h"

namespace canopy::agent {
namespace {

Status Check(const DebugDaemons& daemons, const control::JobRecords& jobs,
             const JobRequest& request, uint32_t uid) {
  if (request.apps.size() != 1) {
    return Status(kErrBadParam, "debugger daemons are of one program");
  }
  if (daemons.per_node != 0 && daemons.per_proc != 0) {
    return Status(kErrBadParam,
                  "the number of debugger daemons is one per node or one per "
                  "process, not both");
  }
  const auto found = jobs.find(daemons.target.nspace);
  if (found == jobs.end()) {
    return Status(kErrNotFound, "there is no job '" + daemons.target.nspace +
                                    "' to be debugged");
  }
  const JobSpec& job = *found->second.job;
  if (daemons.target.rank != kRankWildcard &&
      daemons.target.rank >= job.procs.size()) {
    return Status(kErrNotFound, "job " + job.nspace + " has no rank " +
                                    std::to_string(daemons.target.rank));
  }
  if (job.uid == uid || uid == 0) return Status();
  return Status(kErrNoPermissions,
                "job " + job.nspace + " belongs to another user");
}

// Returns the number of daemons on each node of the target.
std::vector<uint32_t> CountsOf(const DebugDaemons& daemons,
                               const JobSpec& job) {
  std::vector<uint32_t> counts(job.nodes.size());
  const bool whole = daemons.target.rank == kRankWildcard;
  for (Rank rank = 0; rank < job.procs.size(); ++rank) {
    if (!whole && rank != daemons.target.rank) continue;
    uint32_t& count = counts[job.procs[rank].node];
    count = daemons.per_node != 0
                ? daemons.per_node
                : count + std::max(daemons.per_proc, uint32_t{1});
  }
  return counts;
}

}  // namespace

Status PlaceDaemons(const control::JobRecords& jobs, uint32_t uid,
                    JobRequest* request) {
  if (!request->daemons) return Status();
  const DebugDaemons& daemons = *request->daemons;
  if (Status s = Check(daemons, jobs, *request, uid); !s.ok()) return s;
  const JobSpec& job = *jobs.at(daemons.target.nspace).job;
  const std::vector<uint32_t> counts = CountsOf(daemons, job);
  JobApp& app = request->apps[0];
  app.num_procs = 0;
  app.hosts.clear();
  for (size_t node = 0; node < counts.size(); ++node) {
    if (counts[node] == 0) continue;
    app.hosts.push_back({job.nodes[node].name, counts[node], true, {}});
    app.num_procs += counts[node];
  }
  JobPlaces& places = request->places;
  places.hosts.clear();
  places.map_by = "seq";
  places.rank_by.clear();
  places.bind_to = "none";
  places.tool = true;
  request->debug = JobDebug();
  request->debug.target = daemons.target;
  return Status();
}

}  // namespace canopy::agent
