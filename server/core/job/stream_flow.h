// Flow control of a job's output and input at the agent that controls it: which
// bytes have arrived and were consumed, by node and by position. Book-keeping
// only.
#ifndef CANOPY_SERVER_CORE_JOB_STREAM_FLOW_H_
#define CANOPY_SERVER_CORE_JOB_STREAM_FLOW_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/ids.h"
#include "common/job.h"

namespace canopy::core {

// Output. `channel` is the stream's bit; only standard output and error are
// waited for (only the former when the job merges them). Nodes are
// job-relative.
class OutputFlow {
 public:
  explicit OutputFlow(const JobSpec& job);

  void OnClosed(Rank rank, uint16_t channel);
  // Nothing comes from the rank any more. False: nothing was awaited.
  bool CloseAll(Rank rank);
  bool IsOpen(Rank rank, uint16_t channel) const {
    return (streams_[rank] & channel) != 0;
  }
  bool all_closed() const { return open_streams_ == 0; }
  // Ranks with a stream that is not closed, ascending.
  std::vector<Rank> OpenRanks() const;

  // Output of a node arrived, `size` bytes that end at position `end` of the
  // node's output. Returns how many of its first bytes are duplicates, or
  // nothing when there is a gap before it.
  std::optional<uint64_t> OnDelivered(uint32_t node, uint64_t size,
                                      uint64_t end);
  // Returns the total consumed of the node's output.
  uint64_t OnConsumed(uint32_t node, uint64_t bytes);
  uint64_t consumed(uint32_t node) const { return consumed_[node]; }
  uint64_t unconsumed() const { return unconsumed_; }
  // Sets how much of each node's output has arrived and was consumed, replacing
  // earlier counts.
  void SetReceived(const std::vector<uint64_t>& received);
  // Output of the node up to `position` is not awaited any more.
  void SkipTo(uint32_t node, uint64_t position);

 private:
  void Close(Rank rank, uint8_t streams);

  std::vector<uint8_t> streams_;  // open ones, channel bits
  uint64_t open_streams_ = 0;
  uint64_t unconsumed_ = 0;
  std::vector<uint64_t> delivered_;  // by node
  std::vector<uint64_t> consumed_;   // by node
};

// Input. `takers`: the nodes with ranks that take it (JobProgress::InputNodes).
class InputFlow {
 public:
  explicit InputFlow(uint32_t num_nodes)
      : taken_(num_nodes), noted_(num_nodes) {}

  void OnSent(uint64_t bytes) { sent_ += bytes; }
  // A node's processes took `bytes`, and `total` overall (0: unknown). Returns
  // how many more bytes all takers have now consumed; never more than was sent.
  uint64_t OnTaken(uint32_t node, uint64_t bytes, uint64_t total,
                   const std::vector<uint32_t>& takers);
  // The same after ranks ended: input that they did not take counts as
  // consumed.
  uint64_t Advance(const std::vector<uint32_t>& takers);
  // Bytes that all takers have consumed.
  uint64_t done() const { return done_; }
  // Records how much input the node's processes have while the input's position
  // here is unknown.
  void NoteTaken(uint32_t node, uint64_t total) {
    noted_[node] = std::max(noted_[node], total);
  }
  // Sets the position of what is sent next; recorded totals apply from here.
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

// Input at an agent whose ranks take it. What is sent again comes to this agent
// alone, and what follows down the tree, so the latter may come first: it would
// leave a gap, and is requested again when the gap is filled.
//
// Positions here count all input that these ranks are given. Those of messages
// count a run (InputData::run): a run begins here behind what was given before.
class InputOrder {
 public:
  struct Run {
    uint64_t id = 0;
    uint64_t begin = 0;  // position here
  };

  // What the local ranks have taken; none: not known.
  const std::optional<uint64_t>& taken() const { return taken_; }
  // And what they were given besides.
  void OnTaken(uint64_t total, uint64_t given = 0);
  // Not known until the next OnTaken, as a predecessor had it.
  void Forget();
  void Recover(const Run& run) { run_ = run; }

  const Run& run() const { return run_; }
  uint64_t InRun(uint64_t position) const {
    return position > run_.begin ? position - run_.begin : 0;
  }
  uint64_t FromRun(uint64_t position) const { return run_.begin + position; }

  struct Verdict {
    bool passes = true;
    bool requests = false;  // all after what was taken, once more
    bool begins = false;    // the run
  };
  // A piece that ends at `end` of the input of a run (0: not known), or its
  // end.
  Verdict OnPiece(uint64_t size, uint64_t end, uint64_t run = 0);

 private:
  Verdict InOrder(uint64_t size, uint64_t end);

  Run run_;
  std::optional<uint64_t> taken_ = 0;
  std::optional<uint64_t> had_ = 0;  // without a gap
  bool requested_ = false;
  bool missed_ = false;  // more, since it was requested
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_STREAM_FLOW_H_
