// The progress of the PMI connections of a job's ranks on this node, in memory
// files that outlive the agent.
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
  // The process speaks PMI-2 from now on. Agents of release 0.1 do not know
  // this field.
  bool pmi2 = false;
  bool threaded = false;  // may send a command before the last one is answered
  bool odd_ring = false;  // the number of rings that have ended is odd
  // True while the last of `barriers` is being answered with `status`.
  bool answering = false;
  int16_t status = 0;
  uint64_t barriers = 0;  // number of barriers that have ended; below 2^40

  bool operator==(const RankState&) const = default;
};

// The requests of a rank that change a state which outlives the connection. A
// request that a successor repeats keeps its number; every other request has a
// number of its own.
struct ChangeState {
  // True while the last of `ended` is being answered with `status`.
  bool answering = false;
  int16_t status = 0;
  uint64_t ended = 0;  // below 2^40

  bool operator==(const ChangeState&) const = default;
};

// A state survives the death of this process when Set has returned. Used by one
// thread.
class RankStates {
 public:
  // Creates new files for `ranks` ranks, including the file of changes.
  // kErrOutOfResource: no memory file can be created.
  static Result<std::unique_ptr<RankStates>> Create(size_t ranks);
  // Opens a file that another process created; AdoptChanges adds the file of
  // changes. Returns kErrBadParam if the file is not for `ranks` ranks.
  static Result<std::unique_ptr<RankStates>> Open(UniqueFd fd, size_t ranks);
  // Adds the file of changes that another process created (AdoptChanges), or a
  // new one (CreateChanges). Agents of release 0.1 create no such file. Returns
  // kErrBadParam if the file is not for the same number of ranks.
  Status AdoptChanges(UniqueFd fd);
  Status CreateChanges();
  RankStates(const RankStates&) = delete;
  RankStates& operator=(const RankStates&) = delete;

  // Return and replace the state of a rank. `index` must be below the number of
  // ranks.
  RankState Get(size_t index) const;
  void Set(size_t index, const RankState& state);
  // Return and replace the changes of a rank. If there is no file of changes,
  // GetChange returns that no request has ended.
  ChangeState GetChange(size_t index) const;
  void SetChange(size_t index, const ChangeState& state);

  int fd() const { return states_->fd(); }
  // Returns -1 if there is no such file.
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
