// The agent's side of a job's gate (gate_layout.h).
#ifndef CANOPY_COMMON_SHM_GATE_KEEPER_H_
#define CANOPY_COMMON_SHM_GATE_KEEPER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "common/posix/unique_fd.h"
#include "common/shm/gate_layout.h"
#include "common/status.h"

namespace canopy::shm {

// Owns the file. One thread. Trusts nothing that members write: what they
// spoil harms themselves alone, as no member belongs to another job.
class GateKeeper {
 public:
  // A gate of `num_ranks` (1 to kMaxGateRanks) local ranks, closed.
  static Result<std::unique_ptr<GateKeeper>> Create(uint32_t num_ranks,
                                                    bool local_only);
  ~GateKeeper();
  GateKeeper(const GateKeeper&) = delete;
  GateKeeper& operator=(const GateKeeper&) = delete;

  int fd() const { return fd_.get(); }
  uint64_t size() const { return size_; }
  bool open() const { return open_; }

  // Only while no arrival that Close returned waits for its Release. False
  // when a member has spoiled the gate: it can not be used any more.
  bool Open();

  struct Taken {
    std::vector<uint32_t> ranks;  // indices of those that have arrived
    bool collect = false;         // somebody wants kGateCollect
    bool sync = false;            // and kGateSync
    bool spoiled = false;  // a member gave up: nobody waits, do not open again
  };
  // From here on ranks arrive by message. Whoever was in waits for Release.
  Taken Close();

  // Ends the fence for those that Close returned. The gate stays closed, and
  // they sleep until Wake: whoever wakes to an open gate uses it again.
  void Release(int status);

  // Wakes whoever sleeps although its fence is over.
  void Wake() const { gate_.WakeAll(); }

  // All ranks have arrived, as far as the members say.
  bool IsFull() const;
  // Somebody waits who waited at the last call already, at the same fence.
  bool IsStuck();
  // Commits that a rank says it has sent.
  uint32_t CommitsOf(uint32_t index) const;
  // Another process takes the rank's place.
  void ResetCommits(uint32_t index);

 private:
  GateKeeper(UniqueFd fd, void* base, uint64_t size, uint32_t num_ranks);
  uint32_t generation() const;
  uint64_t ArrivedIn(uint32_t word, uint32_t generation) const;

  const UniqueFd fd_;
  void* const base_;
  const uint64_t size_;
  const GateView gate_;
  bool open_ = false;
  uint32_t closed_at_ = 0;    // generation, while closed
  uint32_t watched_at_ = 0;   // generation at the last IsStuck
  bool was_waiting_ = false;  // somebody was, then
};

}  // namespace canopy::shm

#endif  // CANOPY_COMMON_SHM_GATE_KEEPER_H_
