#include "server/control/recovered_requests.h"

#include <algorithm>
#include <utility>

namespace canopy::control {
namespace {

using Jobs = std::vector<const PersistedJob*>;

const PersistedJob* Find(const Jobs& jobs, const std::string& nspace) {
  const auto it = std::ranges::find_if(jobs, [&](const PersistedJob* job) {
    return job->job->nspace == nspace;
  });
  return it == jobs.end() ? nullptr : *it;
}

void Add(const PersistedJob& job, RecoveredRequest* request) {
  request->jobs.push_back({job.job->nspace, job.end.has_value()});
}

}  // namespace

std::vector<RecoveredRequest> RecoveredRequests(const Jobs& family) {
  std::vector<RecoveredRequest> out;
  for (const PersistedJob* job : family) {
    const LaunchFacts& facts = job->facts;
    if (!facts.spawn_request) continue;
    const PersistedJob* const partner =
        facts.partner.empty() ? nullptr : Find(family, facts.partner);
    RecoveredRequest request{
        job->job->parent, *facts.spawn_request, {}, facts.start_deadline};
    request.complete = facts.partner.empty() || partner != nullptr;
    // The entry of the main job contains its cospawned job. That job is omitted
    // if either record shows that both have started.
    if (facts.cospawned && request.complete) continue;
    Add(*job, &request);
    if (partner != nullptr && !partner->facts.partner.empty()) {
      Add(*partner, &request);
    }
    out.push_back(std::move(request));
  }
  return out;
}

}  // namespace canopy::control
