#include "server/core/job/stream_flow.h"

#include <bit>
#include <utility>

namespace canopy::core {
namespace {

constexpr uint8_t kStdout = 2;
constexpr uint8_t kStderr = 4;

}  // namespace

OutputFlow::OutputFlow(const JobSpec& job)
    : streams_(job.procs.size(),
               job.merge_stderr ? kStdout : kStdout | kStderr),
      delivered_(job.nodes.size()),
      consumed_(job.nodes.size()) {
  for (const uint8_t s : streams_) open_streams_ += std::popcount(s);
}

void OutputFlow::Close(Rank rank, uint8_t streams) {
  const uint8_t closing = streams_[rank] & streams;
  streams_[rank] &= static_cast<uint8_t>(~closing);
  open_streams_ -= std::popcount(closing);
}

void OutputFlow::OnClosed(Rank rank, uint16_t channel) {
  Close(rank, static_cast<uint8_t>(channel & (kStdout | kStderr)));
}

bool OutputFlow::CloseAll(Rank rank) {
  const uint8_t open = streams_[rank];
  Close(rank, open);
  return open != 0;
}

std::vector<Rank> OutputFlow::OpenRanks() const {
  std::vector<Rank> out;
  for (Rank rank = 0; rank < streams_.size(); ++rank) {
    if (streams_[rank] != 0) out.push_back(rank);
  }
  return out;
}

std::optional<uint64_t> OutputFlow::OnDelivered(uint32_t node, uint64_t size,
                                                uint64_t end) {
  uint64_t& delivered = delivered_[node];
  if (end == 0) end = delivered + size;
  if (end < size || end - size > delivered) return std::nullopt;
  const uint64_t known = std::min(size, delivered - (end - size));
  delivered += size - known;
  unconsumed_ += size - known;
  return known;
}

uint64_t OutputFlow::OnConsumed(uint32_t node, uint64_t bytes) {
  unconsumed_ -= std::min(bytes, unconsumed_);
  return consumed_[node] += bytes;
}

void OutputFlow::SetReceived(const std::vector<uint64_t>& received) {
  const size_t n = std::min(received.size(), delivered_.size());
  std::copy_n(received.begin(), n, delivered_.begin());
  consumed_ = delivered_;
  unconsumed_ = 0;
}

void OutputFlow::SkipTo(uint32_t node, uint64_t position) {
  if (position <= delivered_[node]) return;
  consumed_[node] += position - delivered_[node];
  delivered_[node] = position;
}

uint64_t InputFlow::OnTaken(uint32_t node, uint64_t bytes, uint64_t total,
                            const std::vector<uint32_t>& takers) {
  uint64_t& taken = taken_[node];
  if (total > 0) {
    taken = std::max(taken, total);
  } else {
    taken = std::min(sent_, taken + std::min(bytes, sent_));
  }
  return Advance(takers);
}

uint64_t InputFlow::Advance(const std::vector<uint32_t>& takers) {
  uint64_t done = sent_;
  for (const uint32_t node : takers) done = std::min(done, taken_[node]);
  if (done <= done_) return 0;
  return done - std::exchange(done_, done);
}

// ------------------------------------------------------------------ order ---

void InputOrder::OnTaken(uint64_t total, uint64_t given) {
  taken_ = total;
  had_ = std::max({had_.value_or(0), total, given});
}

void InputOrder::Forget() {
  taken_.reset();
  had_.reset();
  requested_ = missed_ = false;
}

// If it is unknown which input the ranks have received, the piece is dropped.
// After the shim has reported the position, the whole input run is requested
// and sent again.
InputOrder::Verdict InputOrder::OnPiece(uint64_t size, uint64_t end,
                                        uint64_t run) {
  const bool begins = run > run_.id;
  if (run < run_.id || (begins && !had_)) return {.passes = false};
  if (begins) {
    run_ = {run, *had_};
    requested_ = missed_ = false;
  }
  Verdict verdict = InOrder(size, FromRun(end));
  verdict.begins = begins;
  return verdict;
}

InputOrder::Verdict InputOrder::InOrder(uint64_t size, uint64_t end) {
  if (!had_ || end < size) return {};
  if (end - size > *had_) {
    missed_ = requested_;
    return {false, !std::exchange(requested_, true)};
  }
  if (size > 0 && end <= *had_) return {};
  had_ = std::max(*had_, end);
  requested_ = std::exchange(missed_, false);
  return {true, requested_};
}

}  // namespace canopy::core
