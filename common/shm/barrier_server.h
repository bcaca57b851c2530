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

// Owns the file. One thread. Trusts nothing that participants write: corruption
// harms only their own job.
class BarrierServer {
 public:
  // A barrier of `num_ranks` (1 to kMaxBarrierRanks) local ranks, closed.
  static Result<std::unique_ptr<BarrierServer>> Create(uint32_t num_ranks,
                                                       bool local_only);
  ~BarrierServer();
  BarrierServer(const BarrierServer&) = delete;
  BarrierServer& operator=(const BarrierServer&) = delete;

  int fd() const { return fd_.get(); }
  uint64_t size() const { return size_; }
  bool open() const { return open_; }

  // Only while no arrival that Close returned waits for its Release. False when
  // a participant has corrupted the barrier, which can not be used any more.
  bool Open();

  struct Taken {
    std::vector<uint32_t> ranks;  // indices of those that have arrived
    bool collect = false;         // some arrival has kBarrierCollect
    bool sync = false;            // some arrival has kBarrierSync
    bool corrupted =
        false;  // a participant gave up: none waits, do not open again
  };
  // From here on ranks arrive by message. Those that have arrived wait for
  // Release.
  Taken Close();

  // Ends the fence for those that Close returned. The barrier stays closed, and
  // they sleep until Wake, so that a woken participant finds it open again.
  void Release(int status);

  // Wakes participants that sleep although their fence has ended.
  void Wake() const { barrier_.WakeAll(); }

  // All ranks have arrived, according to the participants.
  bool IsFull() const;
  // A participant that waited at the previous call still waits at the same
  // fence.
  bool IsStuck();
  // Commits that a rank says it has sent.
  uint32_t CommitsOf(uint32_t index) const;
  // Another process takes the rank's place.
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
  bool was_waiting_ = false;  // a participant was, then
};

}  // namespace canopy::shm

#endif  // CANOPY_COMMON_SHM_BARRIER_SERVER_H_
