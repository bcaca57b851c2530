// Flow control of a job's standard input between agent and shim.
#ifndef CANOPY_SERVER_PROCESS_SHIM_INPUT_H_
#define CANOPY_SERVER_PROCESS_SHIM_INPUT_H_

#include <cstdint>
#include <deque>
#include <optional>

#include "server/core/step/process_actions.h"

namespace canopy::process {

// Each piece has the position of its end. Pieces may be repeated after a change
// of agents; each byte is forwarded once. Used by one thread.
class ShimInput {
 public:
  // Called after the recovery of a shim, with the number of bytes of the job's
  // input that the shim has received, and that its processes have read.
  void Recover(uint64_t taken, uint64_t done);
  // Queues the new part of `input`. A piece after a gap is dropped, because it
  // will be resent together with the missing data.
  void Feed(core::FeedInput input);
  // Removes the next piece for the shim. Returns no value if nothing is queued
  // or the shim's window is full.
  std::optional<core::FeedInput> Next();
  // Records that the processes have read another `bytes` bytes.
  void Done(uint64_t bytes);
  // Drops the queue.
  void Clear() { waiting_.clear(); }

  // Returns the number of bytes of the job's input that the processes have
  // read.
  uint64_t position() const { return done_; }
  // Returns the number of bytes of the job's input that were forwarded to the
  // shim.
  uint64_t given() const { return taken_; }

 private:
  bool Take(core::FeedInput* input);

  std::deque<core::FeedInput> waiting_;
  uint64_t outstanding_ = 0;  // bytes sent to the shim and not read yet
  uint64_t taken_ = 0;
  uint64_t done_ = 0;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_SHIM_INPUT_H_
