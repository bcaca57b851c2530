// How far the PMI-1 connections of a job's ranks on this node have come, in a
// memory file that outlives the agent.
#ifndef CANOPY_SERVER_PMI1_RANK_STATES_H_
#define CANOPY_SERVER_PMI1_RANK_STATES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace canopy::pmi1 {

struct RankState {
  bool initialized = false;  // the core knows the connection
  bool finalized = false;
  // The last of `barriers` is answered in this moment, with that status.
  bool answering = false;
  int16_t status = 0;
  uint64_t barriers = 0;  // that have ended; below 2^40

  bool operator==(const RankState&) const = default;
};

// A state is durable across the death of this process once Set has returned.
// One thread.
class RankStates {
 public:
  // Of a new file of so many ranks.
  static Result<std::unique_ptr<RankStates>> Create(size_t ranks);
  // Of a file that another process made. kErrBadParam: it is not of so many
  // ranks.
  static Result<std::unique_ptr<RankStates>> Open(UniqueFd fd, size_t ranks);
  ~RankStates();
  RankStates(const RankStates&) = delete;
  RankStates& operator=(const RankStates&) = delete;

  // `index` is below the number of ranks.
  RankState Get(size_t index) const;
  void Set(size_t index, const RankState& state);

  int fd() const { return fd_.get(); }

 private:
  RankStates() = default;
  Status Map(UniqueFd fd, size_t ranks);

  UniqueFd fd_;
  std::atomic<uint64_t>* words_ = nullptr;
  size_t ranks_ = 0;
};

}  // namespace canopy::pmi1

#endif  // CANOPY_SERVER_PMI1_RANK_STATES_H_
