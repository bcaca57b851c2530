// A job's standard input on its way, at the agent that controls the job: kept
// until every process has taken it, by its position in all of the input.
#ifndef CANOPY_SERVER_CORE_INPUT_LOG_H_
#define CANOPY_SERVER_CORE_INPUT_LOG_H_

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

  // Where the input goes on is not known: a former agent had what came before.
  void Forget();
  // It goes on there. False, and without effect, when that was known.
  bool BeginAt(uint64_t position);
  bool positioned() const { return positioned_; }

  // Takes what is new of it, without a position all. What does not follow on
  // what is there is left out: it comes again. Empty `data` is the end.
  void Add(std::optional<uint64_t> position, const Bytes& data);
  // What was added since the last call, to be sent.
  std::vector<Piece> TakeNew();
  // What of that comes after `position`, once more; nothing when positions are
  // not known.
  std::vector<Piece> From(uint64_t position) const;
  // Nobody needs what comes before.
  void Release(uint64_t position);

 private:
  bool positioned_ = true;
  bool closed_ = false;
  uint64_t end_ = 0;  // of what was added
  std::vector<Piece> unsent_;
  std::deque<Piece> sent_;  // and not released
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_INPUT_LOG_H_
