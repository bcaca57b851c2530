#include "server/core/job_progress.h"

#include <sys/wait.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "common/status.h"
#include "server/core/job_text.h"

namespace canopy::core {
namespace {

constexpr uint8_t kStdout = 2;
constexpr uint8_t kStderr = 4;

}  // namespace

JobProgress::JobProgress(std::shared_ptr<const JobSpec> job,
                         std::shared_ptr<const JobLayout> layout)
    : job_(std::move(job)),
      layout_(std::move(layout)),
      ended_(job_->procs.size()),
      expected_(job_->procs.size()),
      left_on_node_(job_->nodes.size()),
      streams_(job_->procs.size(),
               job_->merge_stderr ? kStdout : kStdout | kStderr),
      delivered_(job_->nodes.size()),
      consumed_(job_->nodes.size()),
      input_taken_(job_->nodes.size()),
      input_noted_(job_->nodes.size()) {
  for (const ProcPlacement& p : job_->procs) ++left_on_node_[p.node];
  for (const uint8_t s : streams_) open_streams_ += std::popcount(s);
}

bool JobProgress::Fail(JobFailure failure) {
  if (failure_) return false;
  failure_ = std::move(failure);
  return true;
}

std::optional<JobFailure> JobProgress::OnExit(const ProcExit& exit) {
  if (ended_[exit.rank]) return std::nullopt;
  MarkEnded(exit.rank);
  if (exit.wait_status == kNeverStarted) {
    CloseStreams(exit.rank, streams_[exit.rank]);
  }
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

void JobProgress::OnLost(Rank rank) {
  if (!ended_[rank]) MarkEnded(rank);
  CloseStreams(rank, streams_[rank]);
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

void JobProgress::CloseStreams(Rank rank, uint8_t streams) {
  const uint8_t closing = streams_[rank] & streams;
  streams_[rank] &= static_cast<uint8_t>(~closing);
  open_streams_ -= std::popcount(closing);
}

void JobProgress::OnStreamClosed(Rank rank, uint16_t channel) {
  CloseStreams(rank, static_cast<uint8_t>(channel & (kStdout | kStderr)));
}

std::optional<uint64_t> JobProgress::OnDelivered(uint32_t node, uint64_t size,
                                                 uint64_t end) {
  uint64_t& delivered = delivered_[node];
  if (end == 0) end = delivered + size;
  if (end < size || end - size > delivered) return std::nullopt;
  const uint64_t known = std::min(size, delivered - (end - size));
  delivered += size - known;
  unconsumed_ += size - known;
  return known;
}

void JobProgress::SetReceived(const std::vector<uint64_t>& received) {
  const size_t n = std::min(received.size(), delivered_.size());
  std::copy_n(received.begin(), n, delivered_.begin());
  consumed_ = delivered_;
  unconsumed_ = 0;
}

void JobProgress::SkipTo(uint32_t node, uint64_t position) {
  if (position <= delivered_[node]) return;
  consumed_[node] += position - delivered_[node];
  delivered_[node] = position;
}

uint64_t JobProgress::OnConsumed(uint32_t node, uint64_t bytes) {
  unconsumed_ -= std::min(bytes, unconsumed_);
  return consumed_[node] += bytes;
}

std::vector<Rank> JobProgress::WithOpenStreams() const {
  std::vector<Rank> out;
  for (Rank rank = 0; rank < streams_.size(); ++rank) {
    if (streams_[rank] != 0) out.push_back(rank);
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

uint64_t JobProgress::OnInputTaken(uint32_t node, uint64_t bytes,
                                   uint64_t total) {
  uint64_t& taken = input_taken_[node];
  if (total > 0) {
    taken = std::max(taken, total);
  } else {
    taken = std::min(input_sent_, taken + std::min(bytes, input_sent_));
  }
  return AdvanceInput();
}

uint64_t JobProgress::AdvanceInput() {
  uint64_t done = input_sent_;
  for (const uint32_t node : InputNodes()) {
    done = std::min(done, input_taken_[node]);
  }
  if (done <= input_done_) return 0;
  return done - std::exchange(input_done_, done);
}

}  // namespace canopy::core
