#include "server/core/job/input_log.h"

#include <utility>

namespace canopy::core {

void InputLog::Forget() { positioned_ = false; }

bool InputLog::BeginAt(uint64_t position) {
  if (std::exchange(positioned_, true)) return false;
  end_ = position;
  return true;
}

void InputLog::Add(std::optional<uint64_t> position, const Bytes& data) {
  if (position) (void)BeginAt(*position);
  const uint64_t begin = position.value_or(end_);
  if (closed_ || begin > end_) return;
  if (data.empty()) {
    closed_ = begin == end_;
    if (closed_) unsent_.push_back({{}, positioned_ ? end_ : 0});
    return;
  }
  const uint64_t known = end_ - begin;
  if (known >= data.size()) return;
  end_ = begin + data.size();
  unsent_.push_back({data.Slice(known, data.size()), positioned_ ? end_ : 0});
}

std::vector<InputLog::Piece> InputLog::TakeNew() {
  if (positioned_) sent_.insert(sent_.end(), unsent_.begin(), unsent_.end());
  return std::exchange(unsent_, {});
}

std::vector<InputLog::Piece> InputLog::From(uint64_t position) const {
  std::vector<Piece> out;
  for (const Piece& piece : sent_) {
    if (piece.data.empty() || piece.end > position) out.push_back(piece);
  }
  return out;
}

void InputLog::Release(uint64_t position) {
  // The end of the input stays, because it is resent even if all data before it
  // was consumed.
  while (!sent_.empty() && !sent_.front().data.empty() &&
         sent_.front().end <= position) {
    sent_.pop_front();
  }
}

}  // namespace canopy::core
