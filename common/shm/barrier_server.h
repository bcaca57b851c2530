// The agent's side of a job's barrier (barrier_layout.h).
#ifndef CANOPY_COMMON_SHM_BARRIER_SERVER_H_
#define CANOPY_COMMON_SHM_BARRIER_SERVER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "common/posix/unique_fd.h"
#include "common/shm/barrier_layout.h"
#include "common/status.h"

namespace canopy::shm {

// Owns the file. Used by one thread. Does not trust what participants write, so
// corruption harms only the participants' own job.
class BarrierServer {
 public:
  // Makes a closed barrier of `num_ranks` (1 to kMaxBarrierRanks) local ranks.
  // `local_only` is true if the job has no other ranks, so that the last rank
  // to arrive may release the others itself. Returns kErrBadParam for another
  // number of ranks, and kErrOutOfResource if the file cannot be made or
  // mapped.
  static Result<std::unique_ptr<BarrierServer>> Create(uint32_t num_ranks,
                                                       bool local_only);
  ~BarrierServer();
  BarrierServer(const BarrierServer&) = delete;
  BarrierServer& operator=(const BarrierServer&) = delete;

  int fd() const { return fd_.get(); }
  uint64_t size() const { return size_; }
  bool open() const { return open_; }

  // Opens the barrier. Must not be called while arrivals that Close returned
  // wait for Release. Returns false if a participant has corrupted the barrier,
  // which must not be used any more.
  bool Open();

  struct Taken {
    std::vector<uint32_t> ranks;  // indices of the ranks that have arrived
    bool collect = false;         // an arrival has kBarrierCollect
    bool sync = false;            // an arrival has kBarrierSync
    // A participant has given up, so none waits. The barrier must not be opened
    // again.
    bool corrupted = false;
  };
  // Closes the barrier. From now on, ranks arrive by message. Ranks that have
  // arrived already wait for Release.
  Taken Close();

  // Ends the fence of the arrivals that Close returned. The barrier stays
  // closed, and the ranks sleep until Wake, so that a participant finds the
  // barrier open again when it wakes.
  void Release(int status);

  // Wakes participants that sleep although their fence has ended.
  void Wake() const { barrier_.WakeAll(); }

  // Returns true if all ranks have arrived, according to what participants
  // wrote.
  bool IsFull() const;
  // Returns true if a participant that waited at the previous call still waits
  // at the same fence.
  bool IsStuck();
  // Returns the number of commits that a rank claims to have sent.
  uint32_t CommitsOf(uint32_t index) const;
  // Called when another process takes the place of the rank: sets its counter
  // to 0.
  void ResetCommits(uint32_t index);

 private:
  BarrierServer(UniqueFd fd, void* base, uint64_t size, uint32_t num_ranks);
  uint32_t generation() const;
  uint64_t ArrivedIn(uint32_t word, uint32_t generation) const;

  const UniqueFd fd_;
  void* const base_;
  const uint64_t size_;
  const BarrierView barrier_;
  bool open_ = false;
  uint32_t closed_at_ = 0;    // generation, while closed
  uint32_t watched_at_ = 0;   // generation at the last IsStuck
  bool was_waiting_ = false;  // a participant waited at the last IsStuck
};

}  // namespace canopy::shm

#endif  // CANOPY_COMMON_SHM_BARRIER_SERVER_H_
