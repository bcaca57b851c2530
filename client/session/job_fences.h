// Fences over the process's whole job, and how many collectives have ended.
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

// Threads: Begin, End and counts() from any thread; a fence holds the mutex as
// long as it uses the barrier, and a reattach while it replaces it.
class JobFences {
 public:
  // Null: fences use messages.
  explicit JobFences(std::unique_ptr<shm::BarrierParticipant> barrier)
      : barrier_(std::move(barrier)) {}

  // Counts a fence over the whole job that begins, and one that is over. True
  // when no other is in progress in this process, so that it may use the
  // barrier, in which a rank has one bit: fences of one rank must arrive in
  // order.
  bool Begin() { return in_progress_.fetch_add(1) == 0; }
  void End() { in_progress_.fetch_sub(1); }

  CollectiveCounts& counts() { return counts_; }

  Mutex& mutex() CANOPY_RETURN_CAPABILITY(mu_) { return mu_; }
  // Null: fences use messages.
  shm::BarrierParticipant* barrier() CANOPY_REQUIRES(mu_) {
    return barrier_.get();
  }
  // The successor's barrier.
  void Replace(std::unique_ptr<shm::BarrierParticipant> barrier)
      CANOPY_REQUIRES(mu_) {
    former_.push_back(std::exchange(barrier_, std::move(barrier)));
  }

 private:
  std::atomic<uint32_t> in_progress_{0};
  CollectiveCounts counts_;
  Mutex mu_;
  std::unique_ptr<shm::BarrierParticipant> barrier_ CANOPY_GUARDED_BY(mu_);
  // Of predecessors: their sockets, over which other threads may be sending,
  // count commits in them.
  std::vector<std::unique_ptr<shm::BarrierParticipant>> former_
      CANOPY_GUARDED_BY(mu_);
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_JOB_FENCES_H_
