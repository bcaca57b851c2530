// Flow control of a job's standard input between agent and shim.
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
  // After recovery of a shim: bytes of the job's input that it has taken, and
  // that its processes have.
  void Recover(uint64_t taken, uint64_t done);
  // The recovered shim does not report its position: the next piece determines
  // it.
  void RecoverUnknown();

  // Takes the part of `input` that is new. A piece after a gap is dropped, as
  // it will be resent together with the missing data.
  void Feed(core::FeedInput input);
  // Takes the next piece for the shim. None: nothing is queued, or the shim's
  // window is full.
  std::optional<core::FeedInput> Next();
  // The processes have so many bytes more.
  void Done(uint64_t bytes);
  // Drops the queue.
  void Clear() { waiting_.clear(); }

  // Bytes of the job's input that the processes have. None: unknown.
  std::optional<uint64_t> position() const;
  // And that were taken for them.
  uint64_t given() const { return taken_.value_or(0); }

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
