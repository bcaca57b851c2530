// A job's standard input in transit, at the agent that controls the job:
// retained until every process has taken it, addressed by position in the
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
    uint64_t end = 0;  // of all input up to here; 0: not known
  };

  // The current position is unknown, as a predecessor handled what came before.
  void Forget();
  // Sets the current position. False, and without effect, when it was known.
  bool BeginAt(uint64_t position);
  bool positioned() const { return positioned_; }

  // Appends the part that is new; all of it without a position. Data that
  // leaves a gap is dropped, as it will be resent. Empty `data` is the end.
  void Add(std::optional<uint64_t> position, const Bytes& data);
  // What was added since the last call, to be sent.
  std::vector<Piece> TakeNew();
  // Data already sent from `position` on, for a resend; none when positions are
  // unknown.
  std::vector<Piece> From(uint64_t position) const;
  // Data before that position is not needed any more.
  void Release(uint64_t position);

 private:
  bool positioned_ = true;
  bool closed_ = false;
  uint64_t end_ = 0;  // of what was added
  std::vector<Piece> unsent_;
  std::deque<Piece> sent_;  // and not released
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_INPUT_LOG_H_
