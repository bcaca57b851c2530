// A job's standard input in transit, at the agent that controls the job. It is
// retained until every process has taken it, and addressed by position in the
// stream.
#ifndef CANOPY_SERVER_CORE_JOB_INPUT_LOG_H_
#define CANOPY_SERVER_CORE_JOB_INPUT_LOG_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "common/bytes.h"

namespace canopy::core {

class InputLog {
 public:
  struct Piece {
    Bytes data;        // empty: the end of the input
    uint64_t end = 0;  // position after the data; 0: unknown
  };

  // Makes the current position unknown, because a predecessor handled the input
  // before it.
  void Forget();
  // Sets the current position. Returns false, without effect, if it was known.
  bool BeginAt(uint64_t position);
  bool positioned() const { return positioned_; }

  // Appends the part of `data` that is new, or all of it if `position` is not
  // given. Data that leaves a gap is dropped, because it will be resent. Empty
  // `data` is the end of the input.
  void Add(std::optional<uint64_t> position, const Bytes& data);
  // Returns what was added since the last call; the caller sends it.
  std::vector<Piece> TakeNew();
  // Returns data already sent, from `position` on, for a resend; nothing if
  // positions are unknown.
  std::vector<Piece> From(uint64_t position) const;
  // Drops data before `position`, which is no longer needed.
  void Release(uint64_t position);

 private:
  bool positioned_ = true;
  bool closed_ = false;
  uint64_t end_ = 0;  // position after all data added
  std::vector<Piece> unsent_;
  std::deque<Piece> sent_;  // sent and not released
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_INPUT_LOG_H_
