// One job's shared-memory barrier (common/shm/barrier_layout.h), server side:
// local ranks arrive at fences over their whole job in shared memory. Their
// arrivals become inputs of the core when it must take part: other nodes
// participate, a rank arrives by message, leaves or is late.
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

// Request number of arrivals at the barrier; reserved, so that no client may
// use it.
inline constexpr core::RequestId kBarrierRequest = UINT64_MAX;

// Whether participants, as a client names them, are the whole of its job.
bool IsWholeJob(const std::string& own_nspace,
                const std::vector<ProcId>& participants);

// Loop thread only. The barrier is open while every local rank holds a place in
// it and no fence over the job is pending in the core; after a failed fence it
// stays closed.
class FenceBarrier {
 public:
  // Runs work when the current round of the loop is over.
  using Defer = std::function<void(std::function<void()> work)>;
  // Reports to the core the commits that a rank has left in shared memory.
  using TakeCommits = std::function<void(Rank rank)>;

  // `ranks`: the job's ranks on this node, ascending, at least one.
  // `local_only`: the job has no others. `defer`: participants are woken
  // there, once all replies of the round are processed and the barrier is open.
  static Result<std::unique_ptr<FenceBarrier>> Create(
      const std::vector<Rank>& ranks, bool local_only, InputSink* sink,
      Defer defer, TakeCommits take_commits);
  // Participants that still wait get the status that the agent is gone.
  ~FenceBarrier();
  FenceBarrier(const FenceBarrier&) = delete;
  FenceBarrier& operator=(const FenceBarrier&) = delete;

  int fd() const { return server_->fd(); }
  // Keeps fd() open.
  std::shared_ptr<const void> owner() const { return server_; }
  uint64_t size() const { return server_->size(); }

  // Gives the rank's place to a connection, which may use the barrier from now
  // on. Returns its index; -1 when another connection holds the place.
  int Admit(Rank rank, core::ClientId client);
  // The connection ends; to be called before the core is notified. A rank that
  // still waits in the barrier (another of its threads has finalized) gets the
  // fence's status, or that the connection is lost.
  void OnGone(Rank rank, core::ClientId client);

  // The connection reattached; so many fences over the job have ended for it
  // under a predecessor.
  void OnReattached(Rank rank, core::ClientId client, uint64_t fences);

  // A fence over the whole job arrives by message from a connection of `rank`;
  // to be called before the core is notified. OnMessageDone follows its end.
  void OnMessage(Rank rank);
  void OnMessageDone(int status);

  // A commit of that connection was reported to the core. An arrival does not
  // count before the commits that preceded it.
  void OnCommit(Rank rank, core::ClientId client);
  // A participant signals that all have arrived.
  void OnFull();
  // The core replies to an arrival at the barrier.
  void OnReply(Rank rank, int status);
  // Periodically: passes a fence without progress to the core.
  void Watch();

 private:
  struct Place {
    Rank rank = 0;
    core::ClientId holder = 0;  // 0: none
    bool waiting = false;       // has arrived, and the barrier is closed
    bool behind = false;        // waits, with commits still to be read
    uint32_t commits = 0;       // of the holder, read
    uint32_t commits_due = 0;   // to read while `behind`
    uint64_t arrivals = 0;      // reported to the core
  };

  FenceBarrier(std::unique_ptr<shm::BarrierServer> server,
               const std::vector<Rank>& ranks, bool local_only, InputSink* sink,
               Defer defer, TakeCommits take_commits);
  // Fewer commits were read than were due when it arrived; both may wrap.
  static bool IsBehind(const Place& place) {
    return static_cast<int32_t>(place.commits_due - place.commits) > 0;
  }
  Place* Find(Rank rank);
  void PassToCore();
  // Closes the barrier for those that have arrived. `to_core`: the core
  // completes the fence.
  void Take(bool to_core);
  void CaughtUp(Place* place);
  void SendArrival(const Place& place);
  void Leave(Place* place);
  // Ends a fence that the core does not complete.
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
  bool collect_ = false;     // the same
  size_t num_waiting_ = 0;   // places that wait
  size_t num_behind_ = 0;    // of them
  size_t num_messages_ = 0;  // fences by message without an answer
  int worst_ = 0;            // status so far for those that wait
  bool answered_ = false;    // the core has replied to one of them
  bool failed_ = false;      // for good
  // Of this object, null after its end.
  const std::shared_ptr<FenceBarrier*> self_ =
      std::make_shared<FenceBarrier*>(this);
};

}  // namespace canopy::local

#endif  // CANOPY_SERVER_LOCAL_FENCE_BARRIER_H_
