// Fences over the process's whole job, and the counts of ended collectives.
#ifndef CANOPY_CLIENT_SESSION_JOB_FENCES_H_
#define CANOPY_CLIENT_SESSION_JOB_FENCES_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "client/session/collective_counts.h"
#include "common/mutex.h"
#include "common/shm/barrier_participant.h"

namespace canopy::client {

// Threads: Begin, End and counts() may be called from any thread. A fence holds
// the mutex while it uses the barrier, and a reattach holds it while it
// replaces the barrier.
class JobFences {
 public:
  // If `barrier` is null, fences use messages.
  explicit JobFences(std::unique_ptr<shm::BarrierParticipant> barrier)
      : barrier_(std::move(barrier)) {}

  // Begin is called when a fence over the whole job begins, End when it is
  // over. Begin returns true if no other fence is in progress in this process.
  // Only then may the fence use the barrier, because a rank has one bit in the
  // barrier, and its fences must arrive in order.
  bool Begin() { return in_progress_.fetch_add(1) == 0; }
  void End() { in_progress_.fetch_sub(1); }

  CollectiveCounts& counts() { return counts_; }

  Mutex& mutex() CANOPY_RETURN_CAPABILITY(mu_) { return mu_; }
  // Returns null if fences use messages.
  shm::BarrierParticipant* barrier() CANOPY_REQUIRES(mu_) {
    return barrier_.get();
  }
  // Replaces the barrier by the successor's barrier.
  void Replace(std::unique_ptr<shm::BarrierParticipant> barrier)
      CANOPY_REQUIRES(mu_) {
    former_.push_back(std::exchange(barrier_, std::move(barrier)));
  }

 private:
  std::atomic<uint32_t> in_progress_{0};
  CollectiveCounts counts_;
  Mutex mu_;
  std::unique_ptr<shm::BarrierParticipant> barrier_ CANOPY_GUARDED_BY(mu_);
  // Barriers of predecessors. Other threads may still send over the
  // predecessors' sockets, which count commits in these barriers.
  std::vector<std::unique_ptr<shm::BarrierParticipant>> former_
      CANOPY_GUARDED_BY(mu_);
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_JOB_FENCES_H_
