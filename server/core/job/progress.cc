#include "server/core/job/progress.h"

#include <sys/wait.h>

#include <algorithm>
#include <utility>

#include "common/status.h"
#include "server/core/job/text.h"

namespace canopy::core {

JobProgress::JobProgress(std::shared_ptr<const JobSpec> job)
    : job_(std::move(job)),
      ended_(job_->procs.size()),
      expected_(job_->procs.size()),
      left_on_node_(job_->nodes.size()) {
  for (const ProcPlacement& p : job_->procs) ++left_on_node_[p.node];
}

bool JobProgress::Fail(JobFailure failure) {
  if (failure_) return false;
  failure_ = std::move(failure);
  return true;
}

void JobProgress::Tolerate(JobFailure failure) {
  if (!tolerated_) tolerated_ = std::move(failure);
}

std::optional<JobFailure> JobProgress::OnExit(const ProcExit& exit) {
  if (ended_[exit.rank]) return std::nullopt;
  MarkEnded(exit.rank);
  AddUsage(exit);
  if (exit.wait_status == 0 && !IsAbnormal(exit)) ++num_well_;
  if (!IsAbnormal(exit) || expected_[exit.rank]) return std::nullopt;
  JobFailure failure;
  failure.rank = exit.rank;
  failure.exit_code = ExitCodeOf(exit);
  failure.text = DescribeExit(*job_, exit);
  if (WIFSIGNALED(exit.wait_status)) {
    failure.status = kErrJobAbortedBySig;
  } else if (failure.exit_code != 0) {
    failure.status = kErrJobNonZeroTerm;
  } else {
    failure.status = kErrProcTermWoSync;
    failure.exit_code = kExitLostWithoutFinalize;
  }
  return failure;
}

// A rank that never had a process has used no resources.
void JobProgress::AddUsage(const ProcExit& exit) {
  if (!exit.used && exit.wait_status != kNeverStarted) return;
  const Usage used = exit.used.value_or(Usage());
  used_.sum.cpu_us += used.cpu_us;
  used_.sum.peak_bytes = std::max(used_.sum.peak_bytes, used.peak_bytes);
  ++used_.ranks;
}

void JobProgress::OnLost(Rank rank) {
  if (!ended_[rank]) MarkEnded(rank);
}

void JobProgress::MarkEnded(Rank rank) {
  ended_[rank] = true;
  ++num_ended_;
  --left_on_node_[job_->procs[rank].node];
}

std::vector<Rank> JobProgress::Expected() const {
  std::vector<Rank> out;
  for (Rank rank = 0; rank < expected_.size(); ++rank) {
    if (expected_[rank]) out.push_back(rank);
  }
  return out;
}

std::vector<Rank> JobProgress::Remaining() const {
  std::vector<Rank> out;
  for (Rank rank = 0; rank < ended_.size(); ++rank) {
    if (!ended_[rank]) out.push_back(rank);
  }
  return out;
}

std::vector<uint32_t> JobProgress::InputNodes() const {
  std::vector<uint32_t> nodes;
  if (job_->stdin_target == StdinTarget::kRank) {
    const Rank rank = job_->stdin_rank;
    if (rank < ended_.size() && !ended_[rank]) {
      nodes.push_back(job_->procs[rank].node);
    }
  } else if (job_->stdin_target == StdinTarget::kAll) {
    for (uint32_t n = 0; n < left_on_node_.size(); ++n) {
      if (left_on_node_[n] > 0) nodes.push_back(n);
    }
  }
  return nodes;
}

}  // namespace canopy::core
