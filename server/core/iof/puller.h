// One puller: its selection of a job's output, and the output that it has not
// read yet.
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

// Output of one process as it arrived at the job's controller.
struct JobOutput {
  uint32_t node = 0;  // job-relative index of the rank's node
  // Bytes of the job's output on that node up to the end of this piece; 0 if
  // unknown.
  uint64_t end = 0;
  Rank rank = 0;
  uint16_t channel = 0;
  Bytes data;  // empty: the channel is closed
};

// No further piece is added to an answer that has this many bytes.
inline constexpr size_t kMaxRun = size_t{256} << 10;
inline constexpr uint64_t kDefaultCache = uint64_t{1} << 20;
inline constexpr uint64_t kMaxCache = uint64_t{64} << 20;

// Output in flight stays in the puller until the next read acknowledges it, so
// a lost answer can be repeated. A cursor contains more than an
// acknowledgement: it has the position in each node's output from which another
// agent that becomes the controller can resume. A puller only makes the
// answers; the caller sends them. Not synchronised.
class Puller {
 public:
  // `epoch` differs from that of every earlier puller. Empty `ranks` means all.
  Puller(uint64_t epoch, uint32_t num_nodes, std::set<Rank> ranks,
         const OutputRead& read);

  bool redirects() const { return redirects_; }
  bool Wants(Rank rank, uint16_t channel) const;

  // Sets the start: the position in each node's output, and the number of bytes
  // that the puller has selected but that were dropped before. With `from_now`,
  // earlier output is not meant for the puller.
  void Begin(const std::vector<uint64_t>& seen, uint64_t dropped,
             bool from_now);
  // Adds output that follows the output added before. Output that this puller
  // did not select only advances its positions.
  void Add(const JobOutput& output);
  // Records that the job's output is complete; anything added later is ignored.
  void Complete() { complete_ = true; }

  // Drops the output that a read's cursor acknowledges. Returns false if the
  // cursor is malformed or comes from another puller.
  bool Acknowledge(const std::string& cursor);
  // Resumes from a cursor of another agent. Returns false if the cursor is
  // malformed.
  bool Resume(const std::string& cursor);
  // Returns the number of dropped bytes in a cursor; 0 if it is malformed.
  static uint64_t DroppedIn(const std::string& cursor);

  // Returns the answer to the first read, without output.
  OutputRun Welcome();
  // Returns true if there is something to report: output, dropped bytes, or the
  // end.
  bool HasNews() const;
  // Returns the answer to the current read: new output, or the previous answer
  // if that was not acknowledged.
  OutputRun Next();

  uint64_t dropped() const { return dropped_; }
  size_t cached() const { return queued_; }

 private:
  struct Cursor;

  struct Queued {
    JobOutput output;
    // Number of bytes of this node's output that were dropped, for lack of
    // room, before this piece.
    uint64_t refused = 0;
  };

  bool SkipKnown(const JobOutput& output, Bytes* data);
  void Queue(const JobOutput& output, Bytes data);
  void DropOldestFor(Bytes* data);
  void DropFront(uint64_t most);
  void Drop(uint64_t bytes) { dropped_ += bytes; }
  // Each piece has an overhead, so the number of pieces is bounded, too.
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
  uint64_t queued_ = 0;          // bytes in queue_
  std::vector<JobOutput> sent_;  // sent, not acknowledged
  uint64_t answers_ = 0;         // answers that contained output
  std::vector<uint64_t> seen_;   // end position in each node's output
  std::vector<bool> resumed_;    // the next output may follow a gap
  // Number of bytes of each node's output dropped for lack of room.
  std::vector<uint64_t> refused_;
  // By channel and rank: true if its close was sent.
  std::map<uint16_t, std::vector<bool>> closed_;
  uint64_t dropped_ = 0;
  uint64_t told_dropped_ = 0;  // dropped_ as the last cursor reported it
  bool complete_ = false;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_IOF_PULLER_H_
