// A rank's side of its job's barrier (barrier_layout.h).
#ifndef CANOPY_COMMON_SHM_BARRIER_PARTICIPANT_H_
#define CANOPY_COMMON_SHM_BARRIER_PARTICIPANT_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "common/shm/barrier_layout.h"
#include "common/status.h"

namespace canopy::shm {

// The agent takes over whenever it likes: the participants then use messages,
// until it opens the barrier again.
class BarrierParticipant {
 public:
  // Maps `size` bytes of a barrier for the rank with that index among the local
  // ranks. `fd` may be closed afterwards. kErrHandshakeFailed when it is no
  // barrier of this layout.
  static Result<std::unique_ptr<BarrierParticipant>> Map(int fd, uint64_t size,
                                                         uint32_t index);
  ~BarrierParticipant();
  BarrierParticipant(const BarrierParticipant&) = delete;
  BarrierParticipant& operator=(const BarrierParticipant&) = delete;

  enum class Arrival {
    kReleased,  // was the last one; all are through
    kWait,      // is in: call Wait
    kNotify,    // is in, as the last one: tell the agent, then call Wait
    kClosed,    // is not in: arrive by message
  };
  struct Ticket {
    uint32_t generation = 0;
    // This rank was one of the first two to come: for all it looks from time
    // to time whether the agent lives, and wakes them when the fence is over
    // but nobody woke it.
    bool watch = false;
  };
  // Arrives at the next fence over the whole job. `wants`: of kBarrierCollect
  // and kBarrierSync. `ticket` is for Wait. One thread at a time, until its
  // fence is over: a rank has one bit.
  Arrival Arrive(uint64_t wants, Ticket* ticket);

  // Waits for the end of the fence, at most `timeout_ns` (or
  // BarrierView::kForever); true when it is over, with what it ended with in
  // `status`.
  bool Wait(const Ticket& ticket, int64_t timeout_ns, int* status) const;

  // The agent is gone for ever: closes the barrier, and everybody's fence ends
  // with that status.
  void GiveUp(const Ticket& ticket, int status) const;

  // How many commits are on their way to the agent or were: one more before
  // each is sent, and before the next Arrive. Any thread; good for as long as
  // this object.
  std::atomic<uint32_t>* commits() const { return &barrier_.commits(index_); }

 private:
  BarrierParticipant(void* base, uint64_t size, uint32_t num_ranks,
                     uint32_t index);
  Arrival Complete(uint32_t generation) const;

  void* const base_;
  const uint64_t size_;
  const BarrierView barrier_;
  const uint32_t index_;
};

}  // namespace canopy::shm

#endif  // CANOPY_COMMON_SHM_BARRIER_PARTICIPANT_H_
