// A job's standard input in transit, at the agent that controls the job. The
// input is retained until every process has consumed it, and addressed by its
// position in the stream. Used by one thread.
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
  // Sets the current position. Returns false and changes nothing if the
  // position was known.
  bool BeginAt(uint64_t position);
  bool positioned() const { return positioned_; }

  // Appends the part of `data` that is new, or all of it if `position` is not
  // given. Data that leaves a gap is dropped, because it will be resent. Empty
  // `data` is the end of the input.
  void Add(std::optional<uint64_t> position, const Bytes& data);
  // Returns the pieces added since the last call; the caller sends them.
  std::vector<Piece> TakeNew();
  // Returns the data that was sent already, from `position` on, for a resend;
  // an empty list if positions are unknown.
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
