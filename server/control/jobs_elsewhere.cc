#include "server/control/jobs_elsewhere.h"

#include "common/event_loop.h"

namespace canopy::control {

void JobsElsewhere::On(const core::JobElsewhere& job) {
  if (job.job == nullptr) {
    jobs_.erase(job.nspace);
    return;
  }
  const auto [it, added] = jobs_.try_emplace(job.nspace);
  JobRecord& record = it->second;
  record.job = job.job;
  record.controller = job.controller;
  record.phase = core::JobPhase::kRunning;
  if (added) record.since = EventLoop::Now();
}

const JobRecords& JobsElsewhere::With(const JobRecords& own) const {
  if (jobs_.empty()) return own;
  all_ = jobs_;
  for (const auto& [nspace, record] : own) all_[nspace] = record;
  return all_;
}

}  // namespace canopy::control
