#include "server/process/shim_input.h"

#include <algorithm>
#include <utility>

namespace canopy::process {
namespace {

// The limit, in bytes, for input that was sent to the shim and that the
// processes have not read yet.
constexpr uint64_t kWindow = 1u << 20;

}  // namespace

void ShimInput::Recover(uint64_t taken, uint64_t done) {
  taken_ = taken;
  done_ = done;
  outstanding_ = taken - done;
}

void ShimInput::Feed(core::FeedInput input) {
  if (Take(&input)) waiting_.push_back(std::move(input));
}

// Removes the part of the piece that was fed before. Returns false if the piece
// has no new data, or if there is a gap.
bool ShimInput::Take(core::FeedInput* input) {
  const uint64_t size = input->data.size();
  if (input->end == 0) {
    taken_ += size;
    return true;
  }
  if (input->end < size) return false;
  const uint64_t begin = input->end - size;
  if (size == 0) return begin == taken_;
  if (begin > taken_ || input->end <= taken_) return false;
  input->data = input->data.Slice(taken_ - begin, size);
  taken_ = input->end;
  return true;
}

std::optional<core::FeedInput> ShimInput::Next() {
  if (waiting_.empty()) return std::nullopt;
  const uint64_t size = waiting_.front().data.size();
  if (outstanding_ > 0 && outstanding_ + size > kWindow) return std::nullopt;
  core::FeedInput next = std::move(waiting_.front());
  waiting_.pop_front();
  outstanding_ += size;
  return next;
}

void ShimInput::Done(uint64_t bytes) {
  outstanding_ -= std::min(outstanding_, bytes);
  done_ += bytes;
}

}  // namespace canopy::process
