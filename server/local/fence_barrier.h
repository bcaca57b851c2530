// The agent's side of one job's shared-memory barrier
// (common/shm/barrier_layout.h).
//
// Local ranks arrive at fences over their whole job in shared memory. While the
// barrier is open, the agent is not involved in an arrival. The agent closes
// the barrier when the fence needs the agent; the ranks that have arrived by
// then wait. The fence needs the agent in these cases:
// - The last rank to arrive signals the agent (OnFull), because the job has
//   ranks on other nodes or commits that the agent must read first. Otherwise
//   the last rank releases the others itself.
// - A rank arrives by message, leaves, or reattaches, so the core must count
//   the fences of each rank (PassToCore).
// - A rank is late (Watch).
//
// States, and the transitions between them:
//   open      ranks arrive                     -> closed: Take
//   closed    `num_waiting_` ranks wait        -> released: Release
//   released  no rank waits                    -> open: MaybeOpen, if possible
//   failed    for good; fences are messages from now on
//
// A closed fence is completed in one of two ways. With `to_core_` one
// LocalFenceArrived reports the waiting ranks to the core. Ranks that are
// `behind` are reported one by one later. The core's ReleaseFence releases all
// of them. Otherwise the job is local, and the barrier itself releases the
// ranks.
//
// Invariants: An arrival counts only when the commits that preceded it have
// been read (`behind`, `num_behind_`). The barrier opens only if every place is
// held, no fence over the job is pending in the core, and the core has counted
// the same number of fences for every rank (`arrivals`).
#ifndef CANOPY_SERVER_LOCAL_FENCE_BARRIER_H_
#define CANOPY_SERVER_LOCAL_FENCE_BARRIER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/shm/barrier_server.h"
#include "common/status.h"
#include "server/core/step/client_id.h"
#include "server/ports/input_sink.h"

namespace canopy::local {

// Returns true if the participants, as a client names them, are its whole job.
bool IsWholeJob(const std::string& own_nspace,
                const std::vector<ProcId>& participants);

// Loop thread only. The barrier is open while every local rank holds a place in
// it and no fence over the job is pending in the core. After a failed fence it
// stays closed.
class FenceBarrier {
 public:
  // Runs `work` at the end of the loop's current round.
  using Defer = std::function<void(std::function<void()> work)>;
  // Reports to the core the commits that a rank has left in shared memory.
  using TakeCommits = std::function<void(Rank rank)>;

  // Creates a barrier. `ranks` are the job's ranks on this node, ascending, at
  // least one. `local_only` is true if the job has no other ranks. `defer` is
  // used to wake participants after all replies of the round have been
  // processed and the barrier is open again. kErrOutOfResource: no shared
  // memory can be created or mapped; kErrBadParam: the number of ranks is not
  // supported.
  static Result<std::unique_ptr<FenceBarrier>> Create(
      const std::vector<Rank>& ranks, bool local_only, InputSink* sink,
      Defer defer, TakeCommits take_commits);
  // Releases waiting participants. Their status is that the agent is gone.
  ~FenceBarrier();
  FenceBarrier(const FenceBarrier&) = delete;
  FenceBarrier& operator=(const FenceBarrier&) = delete;

  int fd() const { return server_->fd(); }
  // Returns an owner that keeps fd() open.
  std::shared_ptr<const void> owner() const { return server_; }
  uint64_t size() const { return server_->size(); }

  // Gives the rank's place to a connection, which may then use the barrier.
  // Returns the index of the place, or -1 if another connection holds it.
  int Admit(Rank rank, core::ClientId client);
  // Called when the connection ends, before the core is notified. A rank that
  // is still waiting in the barrier (because another of its threads has
  // finalized) gets the fence's status if the core has released a rank of this
  // fence, and kErrLostConnection otherwise.
  void OnGone(Rank rank, core::ClientId client);

  // Called when the connection has reattached. `fences` is the number of fences
  // over the job that have ended for the rank under a predecessor.
  void OnReattached(Rank rank, core::ClientId client, uint64_t fences);

  // Called when a fence over the whole job arrives by message from a connection
  // of `rank`, before the core is notified. OnMessageDone follows when the
  // fence ends.
  void OnMessage(Rank rank);
  void OnMessageDone(int status);

  // Called when a commit of the client was reported to the core. An arrival
  // counts only after the commits that preceded it.
  void OnCommit(Rank rank, core::ClientId client);
  // Called when a participant signals that all have arrived.
  void OnFull();
  // Called when the core has released the rank (core::ReleaseFence).
  void OnReleased(Rank rank, int status);
  // Called periodically. Passes a fence that makes no progress to the core.
  void Watch();

 private:
  struct Place {
    Rank rank = 0;
    core::ClientId holder = 0;  // 0: none
    bool waiting = false;       // has arrived, and the barrier is closed
    bool behind = false;   // is waiting, with commits that have not been read
    uint32_t commits = 0;  // number of the holder's commits that were read
    uint32_t commits_due = 0;  // commits to be read while `behind`
    uint64_t arrivals = 0;     // arrivals that the core has counted
  };

  FenceBarrier(std::unique_ptr<shm::BarrierServer> server,
               const std::vector<Rank>& ranks, bool local_only, InputSink* sink,
               Defer defer, TakeCommits take_commits);
  // Returns true if the agent has read fewer commits than the rank had made
  // when it arrived. Both counters may wrap.
  static bool IsBehind(const Place& place) {
    return static_cast<int32_t>(place.commits_due - place.commits) > 0;
  }
  Place* Find(Rank rank);
  void PassToCore();
  // Closes the barrier for the ranks that have arrived. `to_core` is true if
  // the core completes the fence.
  void Take(bool to_core);
  void CaughtUp(Place* place);
  void SendArrivals(std::vector<core::ClientId> clients);
  void Leave(Place* place);
  // Ends a fence that the core does not complete, at the end of the round.
  void ReleaseLater();
  void Release(int status);
  void MaybeOpen();

  const std::shared_ptr<shm::BarrierServer> server_;
  const bool local_only_;
  InputSink* const sink_;
  const Defer defer_;
  const TakeCommits take_commits_;
  std::vector<Place> places_;
  size_t num_held_ = 0;
  bool to_core_ = false;     // as of the last Take
  bool collect_ = false;     // as of the last Take
  size_t num_waiting_ = 0;   // number of places that wait
  size_t num_behind_ = 0;    // number of waiting places `behind`
  size_t num_messages_ = 0;  // unanswered fences by message
  int worst_ = 0;            // status of the current fence so far
  bool answered_ = false;    // the core has released one of the waiting ranks
  bool failed_ = false;      // a fence has failed
  // Points to this object, and to null after its end.
  const std::shared_ptr<FenceBarrier*> self_ =
      std::make_shared<FenceBarrier*>(this);
};

}  // namespace canopy::local

#endif  // CANOPY_SERVER_LOCAL_FENCE_BARRIER_H_
