// Progress of one job at the agent that controls it: which ranks have ended,
// the failure that determines the job's exit code, and flow control of output
// and input. Book-keeping only; the job engine communicates with the other
// agents.
#ifndef CANOPY_SERVER_CORE_JOB_PROGRESS_H_
#define CANOPY_SERVER_CORE_JOB_PROGRESS_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/job.h"
#include "server/core/messages.h"

namespace canopy::core {

// Why a job failed.
struct JobFailure {
  int exit_code = 0;
  int status = 0;
  Rank rank = kRankInvalid;  // whose fault; kRankInvalid: no rank's
  std::string text;
};

// Exit codes of a job when no rank's exit status determines them.
inline constexpr int kExitLaunchFailed = 1;
inline constexpr int kExitLostWithoutFinalize = 1;
inline constexpr int kExitNodeLost = 1;
inline constexpr int kExitTimedOut = 110;  // ETIMEDOUT
inline constexpr int kExitKilled = 143;    // 128 + SIGTERM

class JobProgress {
 public:
  JobProgress(std::shared_ptr<const JobSpec> job,
              std::shared_ptr<const JobLayout> layout);

  // The first failure stays; later ones are its consequences. True when this
  // one is the first.
  bool Fail(JobFailure failure);
  const std::optional<JobFailure>& failure() const { return failure_; }

  // Notes that a rank ended. Returns the failure that its end means, if it is
  // abnormal and neither expected nor reported before.
  std::optional<JobFailure> OnExit(const ProcExit& exit);
  // The rank's end has been requested and is no failure.
  void ExpectEnd(Rank rank) { expected_[rank] = true; }
  std::vector<Rank> Expected() const;
  // The rank is unreachable: counts as ended, with its streams closed.
  void OnLost(Rank rank);
  bool ended(Rank rank) const { return ended_[rank]; }
  uint32_t num_ended() const { return num_ended_; }
  bool all_ended() const { return num_ended_ == ended_.size(); }
  // Ranks that have not ended, ascending.
  std::vector<Rank> Remaining() const;

  // Output. `channel` is the stream's bit; only standard output and error are
  // waited for (only the former when the job merges them).
  void OnStreamClosed(Rank rank, uint16_t channel);
  bool IsStreamOpen(Rank rank, uint16_t channel) const {
    return (streams_[rank] & channel) != 0;
  }
  // Output of a job-relative node arrived, `size` bytes that end at position
  // `end` of the node's output. Returns how many of its first bytes are
  // duplicates, or nothing when there is a gap before it.
  std::optional<uint64_t> OnDelivered(uint32_t node, uint64_t size,
                                      uint64_t end);
  // Returns the total consumed of the node's output.
  uint64_t OnConsumed(uint32_t node, uint64_t bytes);
  uint64_t consumed(uint32_t node) const { return consumed_[node]; }
  bool all_streams_closed() const { return open_streams_ == 0; }
  uint64_t num_open_streams() const { return open_streams_; }
  // Ranks with a stream that is not closed, ascending.
  std::vector<Rank> WithOpenStreams() const;
  uint64_t unconsumed() const { return unconsumed_; }
  // Sets how much of each node's output has arrived and was consumed, replacing
  // earlier counts.
  void SetReceived(const std::vector<uint64_t>& received);
  // Output of the node up to `position` is not awaited any more.
  void SkipTo(uint32_t node, uint64_t position);

  // Input. Nodes that take it (job-relative); ended ranks take none.
  std::vector<uint32_t> InputNodes() const;
  void OnInputSent(uint64_t bytes) { input_sent_ += bytes; }
  // A node's processes took `bytes`, and `total` overall (0: unknown). Returns
  // how many more bytes every node that takes input has now consumed; never
  // more than was sent.
  uint64_t OnInputTaken(uint32_t node, uint64_t bytes, uint64_t total);
  // Bytes that every node has consumed.
  uint64_t input_done() const { return input_done_; }
  // Records how much input the node's processes have while the input's position
  // here is unknown.
  void NoteInputTaken(uint32_t node, uint64_t total) {
    input_noted_[node] = std::max(input_noted_[node], total);
  }
  // Sets the position of what is sent next; recorded totals apply from here.
  void SetInputBegin(uint64_t position) {
    input_sent_ = input_done_ = position;
    input_taken_ = input_noted_;
  }
  // As OnInputTaken after ranks ended: input that they did not take counts as
  // consumed.
  uint64_t AdvanceInput();

 private:
  void MarkEnded(Rank rank);
  void CloseStreams(Rank rank, uint8_t streams);

  std::shared_ptr<const JobSpec> job_;
  std::shared_ptr<const JobLayout> layout_;
  std::optional<JobFailure> failure_;
  std::vector<bool> ended_;
  std::vector<bool> expected_;
  std::vector<uint32_t> left_on_node_;  // ranks that have not ended
  uint32_t num_ended_ = 0;
  std::vector<uint8_t> streams_;  // open ones, channel bits
  uint64_t open_streams_ = 0;
  uint64_t unconsumed_ = 0;
  std::vector<uint64_t> delivered_;    // by node
  std::vector<uint64_t> consumed_;     // by node
  std::vector<uint64_t> input_taken_;  // by node
  std::vector<uint64_t> input_noted_;  // by node
  uint64_t input_sent_ = 0;
  uint64_t input_done_ = 0;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_PROGRESS_H_
