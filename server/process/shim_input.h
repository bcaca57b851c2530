// A job's standard input between its agent and the shim: what was taken, what
// waits for room, and what the processes have.
#ifndef CANOPY_SERVER_PROCESS_SHIM_INPUT_H_
#define CANOPY_SERVER_PROCESS_SHIM_INPUT_H_

#include <cstdint>
#include <deque>
#include <optional>

#include "server/core/step/process_actions.h"

namespace canopy::process {

// Pieces come with the position that they end at, and may come again after an
// agent was replaced: each byte is passed on once. One thread.
class ShimInput {
 public:
  // Of a shim found again: bytes of the job's input that it has taken, and that
  // its processes have.
  void Restore(uint64_t taken, uint64_t done);
  // The shim was found and can not tell: the next piece says where it is.
  void RestoreUnknown();

  // Takes what is new in `input`. What does not follow on the last piece is
  // left out: it is sent again with what comes before it.
  void Feed(core::FeedInput input);
  // What the shim is to be given next; it is given. None: nothing waits, or the
  // shim has as much ahead of the processes as it may.
  std::optional<core::FeedInput> Next();
  // The processes have so many bytes more.
  void Done(uint64_t bytes);
  // Nothing that waits is wanted any more.
  void Clear() { waiting_.clear(); }

  // Bytes of the job's input that the processes have. None: unknown.
  std::optional<uint64_t> position() const;

 private:
  bool Take(core::FeedInput* input);

  std::deque<core::FeedInput> waiting_;
  uint64_t outstanding_ = 0;  // given to the shim, not done
  std::optional<uint64_t> taken_ = 0;
  uint64_t done_ = 0;
  bool known_ = true;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_SHIM_INPUT_H_
