// How far the PMI connections of a job's ranks on this node have come, in
// memory files that outlive the agent.
#ifndef CANOPY_SERVER_PMI_RANK_STATES_H_
#define CANOPY_SERVER_PMI_RANK_STATES_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/posix/unique_fd.h"
#include "common/status.h"
#include "server/pmi/word_file.h"

namespace canopy::pmi {

struct RankState {
  bool initialized = false;  // the core knows the connection
  bool finalized = false;
  bool pmi2 = false;      // it speaks PMI-2 since; agents of release 0.1 do not
  bool threaded = false;  // may send a command before the last is answered
  bool odd_ring = false;  // an odd number of rings have ended
  // The last of `barriers` is answered in this moment, with that status.
  bool answering = false;
  int16_t status = 0;
  uint64_t barriers = 0;  // that have ended; below 2^40

  bool operator==(const RankState&) const = default;
};

// Requests that change what lives longer than the connection: a request that is
// put again by a successor has the same number, any other has not.
struct ChangeState {
  // The last of `ended` is answered in this moment, with that status.
  bool answering = false;
  int16_t status = 0;
  uint64_t ended = 0;  // below 2^40

  bool operator==(const ChangeState&) const = default;
};

// A state is durable across the death of this process once Set has returned.
// One thread.
class RankStates {
 public:
  // Of new files of so many ranks.
  static Result<std::unique_ptr<RankStates>> Create(size_t ranks);
  // Of a file that another process made, with those changes that AdoptChanges
  // brings. kErrBadParam: it is not of so many ranks.
  static Result<std::unique_ptr<RankStates>> Open(UniqueFd fd, size_t ranks);
  // Agents of release 0.1 make no such file.
  Status AdoptChanges(UniqueFd fd);
  Status CreateChanges();
  RankStates(const RankStates&) = delete;
  RankStates& operator=(const RankStates&) = delete;

  // `index` is below the number of ranks.
  RankState Get(size_t index) const;
  void Set(size_t index, const RankState& state);
  // Nothing has changed before there is a file.
  ChangeState GetChange(size_t index) const;
  void SetChange(size_t index, const ChangeState& state);

  int fd() const { return states_->fd(); }
  // -1: there is none.
  int changes_fd() const { return changes_ ? changes_->fd() : -1; }

 private:
  RankStates(std::unique_ptr<WordFile> states, size_t ranks)
      : states_(std::move(states)), ranks_(ranks) {}

  std::unique_ptr<WordFile> states_;
  std::unique_ptr<WordFile> changes_;
  size_t ranks_;
};

}  // namespace canopy::pmi

#endif  // CANOPY_SERVER_PMI_RANK_STATES_H_
