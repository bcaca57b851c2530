// One puller: what it wants of a job's output, and what it has yet to get.
#ifndef CANOPY_SERVER_CORE_IOF_PULLER_H_
#define CANOPY_SERVER_CORE_IOF_PULLER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/iof_call.h"

namespace canopy::core {

// Output of one process as it came to the agent that controls the job.
struct JobOutput {
  uint32_t node = 0;  // job-relative, that it comes from
  // How much output the job has had on the node, this included; 0: not known.
  uint64_t end = 0;
  Rank rank = 0;
  uint16_t channel = 0;
  Bytes data;  // empty: the channel is closed
};

// Bytes of an answer, after which no further piece is added.
inline constexpr size_t kMaxRun = size_t{256} << 10;
inline constexpr uint64_t kDefaultCache = uint64_t{1} << 20;
inline constexpr uint64_t kMaxCache = uint64_t{64} << 20;

// What is in flight stays here until the next read acknowledges it, so that an
// answer that is lost with an agent is given again. A cursor tells more than
// what was read: the position in the output of each node, from which another
// agent that comes to control the job can go on. Book-keeping only; the caller
// answers.
class Puller {
 public:
  // `epoch`: different from that of each puller before. `ranks`: empty for all.
  Puller(uint64_t epoch, uint32_t num_nodes, std::set<Rank> ranks,
         const OutputRead& read);

  bool redirects() const { return redirects_; }
  bool Wants(Rank rank, uint16_t channel) const;

  // It begins there: positions by node, and so many bytes that it wants were
  // dropped before. `from_now`: what is missing there is not for it either.
  void Begin(const std::vector<uint64_t>& seen, uint64_t dropped,
             bool from_now);
  // Output that follows what it was given before; what is not for it counts for
  // the positions alone.
  void Add(const JobOutput& output);
  // Nothing follows; what is added all the same is not for it.
  void Complete() { complete_ = true; }

  // What the cursor of a read acknowledges is not needed any more. False: the
  // cursor is of no answer of this puller.
  bool Acknowledge(const std::string& cursor);
  // Goes on from a cursor that another agent has given out.
  bool Resume(const std::string& cursor);
  // Bytes that one says were dropped.
  static uint64_t DroppedIn(const std::string& cursor);

  // The answer to its first read: without output.
  OutputRun Welcome();
  // There is something to tell: also, once more, that nothing follows.
  bool HasNews() const;
  // The answer to the read that was acknowledged last: the same once more,
  // where that was lost.
  OutputRun Next();

  uint64_t dropped() const { return dropped_; }
  size_t cached() const { return queued_; }

 private:
  struct Cursor;

  struct Queued {
    JobOutput output;
    // Of what was dropped because it had no room, what comes before this in the
    // output of its node.
    uint64_t refused = 0;
  };

  bool SkipKnown(const JobOutput& output, Bytes* data);
  void Queue(const JobOutput& output, Bytes data);
  void DropOldestFor(Bytes* data);
  void DropFront(uint64_t most);
  void Drop(uint64_t bytes) { dropped_ += bytes; }
  // A piece costs more than its bytes.
  size_t max_pieces() const { return 256 + limit_ / 16; }
  Cursor MakeCursor() const;
  void Tell(OutputRun* run);
  bool IsToldClosed(Rank rank, uint16_t channel) const;
  void TellClosed(Rank rank, uint16_t channel);

  const uint64_t epoch_;
  const std::set<Rank> ranks_;
  const uint16_t channels_;
  const uint64_t limit_;
  const Overflow overflow_;
  const bool redirects_;
  std::deque<Queued> queue_;
  uint64_t queued_ = 0;            // bytes of it
  std::vector<JobOutput> sent_;    // and not acknowledged
  uint64_t answers_ = 0;           // with something in them
  std::vector<uint64_t> seen_;     // of each node's output
  std::vector<bool> resumed_;      // nodes whose next output may leave a gap
  std::vector<uint64_t> refused_;  // of each node's output, for want of room
  // By channel and rank, those of which the end was given.
  std::map<uint16_t, std::vector<bool>> closed_;
  uint64_t dropped_ = 0;
  uint64_t told_dropped_ = 0;  // what lies before the cursor
  bool complete_ = false;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_IOF_PULLER_H_
