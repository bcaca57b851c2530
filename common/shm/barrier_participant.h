// A rank's side of its job's barrier (barrier_layout.h).
#ifndef CANOPY_COMMON_SHM_BARRIER_PARTICIPANT_H_
#define CANOPY_COMMON_SHM_BARRIER_PARTICIPANT_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "common/shm/barrier_layout.h"
#include "common/status.h"

namespace canopy::shm {

// The agent may close the barrier at any time; participants then use messages
// until it opens the barrier again.
class BarrierParticipant {
 public:
  // Maps `size` bytes of a barrier for the rank with this index among the local
  // ranks. The caller keeps `fd` and may close it. kErrHandshakeFailed: the
  // file is not a barrier of this layout; kErrOutOfResource: it cannot be
  // mapped.
  static Result<std::unique_ptr<BarrierParticipant>> Map(int fd, uint64_t size,
                                                         uint32_t index);
  ~BarrierParticipant();
  BarrierParticipant(const BarrierParticipant&) = delete;
  BarrierParticipant& operator=(const BarrierParticipant&) = delete;

  enum class Arrival {
    kReleased,  // this rank was the last one; the fence is over
    kWait,      // arrived: call Wait
    kNotify,    // arrived as the last one: signal the agent, then call Wait
    kClosed,    // not arrived: arrive by message
  };
  // The properties of an arrival that Wait needs.
  struct Ticket {
    uint32_t generation = 0;
    // True for the first two arrivals of each word. These two participants
    // check from time to time whether the agent lives, and wake the others if
    // the fence has ended without a wake-up. There are two because one may be
    // stopped or end.
    bool watch = false;
  };
  // Arrives at the next fence over the whole job. `wants` is a combination of
  // kBarrierCollect and kBarrierSync; Arrive sets `ticket`, an argument of
  // Wait. A rank has only one bit, so at most one thread may use the barrier
  // until its fence is over.
  Arrival Arrive(uint64_t wants, Ticket* ticket);

  // Waits for the end of the fence, for at most `timeout_ns` (or
  // BarrierView::kForever). Returns true when the fence is over, with its
  // status in `*status`.
  bool Wait(const Ticket& ticket, int64_t timeout_ns, int* status) const;

  // Called when the agent is gone for good: closes the barrier and ends the
  // fence of all participants with `status`.
  void GiveUp(const Ticket& ticket, int status) const;

  // Returns the counter of the commits sent to the agent. The rank increments
  // it before it sends each commit, and so before the next Arrive. Any thread;
  // valid as long as this object.
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
