// Flow control of a job's output and input at the agent that controls it:
// counts which bytes have arrived and were consumed, by node and by position.
// The classes neither send nor store data. Each object is used by one thread.
#ifndef CANOPY_SERVER_CORE_JOB_STREAM_FLOW_H_
#define CANOPY_SERVER_CORE_JOB_STREAM_FLOW_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/ids.h"
#include "common/job.h"

namespace canopy::core {

// Counts output. `channel` is the stream's bit. Only the ends of standard
// output and standard error are awaited (only that of standard output if the
// job merges them). Nodes are job-relative.
class OutputFlow {
 public:
  explicit OutputFlow(const JobSpec& job);

  void OnClosed(Rank rank, uint16_t channel);
  // Records that no more output comes from the rank. Returns false if no output
  // was awaited.
  bool CloseAll(Rank rank);
  bool IsOpen(Rank rank, uint16_t channel) const {
    return (streams_[rank] & channel) != 0;
  }
  bool all_closed() const { return open_streams_ == 0; }
  // Returns the ranks with a stream that is not closed, ascending.
  std::vector<Rank> OpenRanks() const;

  // Records output of a node: `size` bytes that end at position `end` of the
  // node's output. Returns the number of bytes at the beginning that are
  // duplicates, or no value if bytes before them are missing.
  std::optional<uint64_t> OnDelivered(uint32_t node, uint64_t size,
                                      uint64_t end);
  // Records that `bytes` of the node's output were consumed. Returns the number
  // of bytes that were consumed in total.
  uint64_t OnConsumed(uint32_t node, uint64_t bytes);
  uint64_t consumed(uint32_t node) const { return consumed_[node]; }
  uint64_t unconsumed() const { return unconsumed_; }
  // Sets how much of each node's output has arrived and was consumed, in place
  // of the earlier counts.
  void SetReceived(const std::vector<uint64_t>& received);
  // Stops waiting for output of the node before `position`.
  void SkipTo(uint32_t node, uint64_t position);

 private:
  void Close(Rank rank, uint8_t streams);

  std::vector<uint8_t> streams_;  // channel bits of the open streams, by rank
  uint64_t open_streams_ = 0;
  uint64_t unconsumed_ = 0;
  std::vector<uint64_t> delivered_;  // by node
  std::vector<uint64_t> consumed_;   // by node
};

// Counts input. `takers` are the nodes whose ranks consume it
// (JobProgress::InputNodes).
class InputFlow {
 public:
  explicit InputFlow(uint32_t num_nodes)
      : taken_(num_nodes), noted_(num_nodes) {}

  void OnSent(uint64_t bytes) { sent_ += bytes; }
  // Records that a node's processes have consumed `bytes` more, and `total` in
  // all (0: unknown). Returns the number of bytes that all takers have consumed
  // since the last call; never more than was sent.
  uint64_t OnTaken(uint32_t node, uint64_t bytes, uint64_t total,
                   const std::vector<uint32_t>& takers);
  // Called after ranks have ended: input that they did not consume counts as
  // consumed. Returns the same as OnTaken.
  uint64_t Advance(const std::vector<uint32_t>& takers);
  // Returns the number of bytes that all takers have consumed.
  uint64_t done() const { return done_; }
  // Records how much input the node's processes have consumed, while this
  // object does not know the position of the input.
  void NoteTaken(uint32_t node, uint64_t total) {
    noted_[node] = std::max(noted_[node], total);
  }
  // Sets the position of the input that is sent next. Recorded totals count
  // from this position.
  void SetBegin(uint64_t position) {
    sent_ = done_ = position;
    taken_ = noted_;
  }

 private:
  std::vector<uint64_t> taken_;  // by node
  std::vector<uint64_t> noted_;  // by node
  uint64_t sent_ = 0;
  uint64_t done_ = 0;
};

// Order of the input at an agent whose ranks consume it. Resent input is sent
// to this agent alone, and new input comes down the tree, so new input may
// arrive first. Such input would leave a gap: it is dropped, and requested
// again when the gap is filled.
//
// Positions in this class count all input that the local ranks have received.
// Positions in messages count from the start of an input run (InputData::run).
// Run::begin converts between the two: it is the amount of input that had
// arrived when the run began.
class InputOrder {
 public:
  struct Run {
    uint64_t id = 0;
    uint64_t begin = 0;  // input that had arrived before the run
  };

  // Returns the number of bytes that the local ranks have consumed; no value if
  // unknown.
  const std::optional<uint64_t>& taken() const { return taken_; }
  // Records that `total` bytes were consumed; `given` is the number delivered
  // to the ranks, if that is more.
  void OnTaken(uint64_t total, uint64_t given = 0);
  // Makes the counts unknown until the next OnTaken, because a predecessor kept
  // them.
  void Forget();
  void Recover(const Run& run) { run_ = run; }

  const Run& run() const { return run_; }
  uint64_t InRun(uint64_t position) const {
    return position > run_.begin ? position - run_.begin : 0;
  }
  uint64_t FromRun(uint64_t position) const { return run_.begin + position; }

  struct Verdict {
    bool passes = true;
    bool requests = false;  // request all input after taken() again
    bool begins = false;    // the piece begins a new input run
  };
  // Handles a piece of input that ends at position `end` (0: unknown) of the
  // input run `run`, or the end of the input if `size` is 0.
  Verdict OnPiece(uint64_t size, uint64_t end, uint64_t run = 0);

 private:
  Verdict InOrder(uint64_t size, uint64_t end);

  Run run_;
  std::optional<uint64_t> taken_ = 0;
  std::optional<uint64_t> had_ = 0;  // input that arrived without a gap
  bool requested_ = false;
  bool missed_ = false;  // new input was dropped since the request
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_STREAM_FLOW_H_
