// One job's gate (common/shm/gate_layout.h) as the endpoint runs it: local
// ranks arrive at fences over their whole job in shared memory, and whenever
// the core has to know - other nodes take part, somebody arrives by message,
// leaves, or does not come - their arrivals become inputs of the core.
#ifndef CANOPY_SERVER_LOCAL_FENCE_GATE_H_
#define CANOPY_SERVER_LOCAL_FENCE_GATE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/shm/gate_keeper.h"
#include "common/status.h"
#include "server/core/step/client_id.h"
#include "server/ports/input_sink.h"

namespace canopy::local {

// The request that stands for an arrival at the gate: no client may use it.
inline constexpr core::RequestId kGateRequest = UINT64_MAX;

// Whether participants, as a client names them, are the whole of its job.
bool IsWholeJob(const std::string& own_nspace,
                const std::vector<ProcId>& participants);

// Loop thread only. The gate is open while every local rank holds a place in
// it and nothing about fences over the job is on its way to the core or back;
// after a fence that failed it stays closed.
class FenceGate {
 public:
  // Runs work when the current round of the loop is over.
  using Defer = std::function<void(std::function<void()> work)>;
  // Tells the core of the commits that a rank has left in shared memory.
  using TakeCommits = std::function<void(Rank rank)>;

  // `ranks`: the job's ranks on this node, ascending, at least one.
  // `local_only`: the job has no others. `defer`: members are woken there,
  // when all that has been answered with them is done and the gate is open.
  static Result<std::unique_ptr<FenceGate>> Create(
      const std::vector<Rank>& ranks, bool local_only, InputSink* sink,
      Defer defer, TakeCommits take_commits);
  // Whoever still waits is told that the agent is gone.
  ~FenceGate();
  FenceGate(const FenceGate&) = delete;
  FenceGate& operator=(const FenceGate&) = delete;

  int fd() const { return keeper_->fd(); }
  // Keeps fd() open.
  std::shared_ptr<const void> owner() const { return keeper_; }
  uint64_t size() const { return keeper_->size(); }

  // Gives the rank's place to a connection, which may use the gate from now
  // on, and says which index it has; -1 when another one holds the place.
  int Admit(Rank rank, core::ClientId client);
  // The connection ends; call it before the core hears of that. A rank that
  // waits in the gate nevertheless (another thread of it has finalized) is told
  // what the others are told, or that the connection is lost.
  void OnGone(Rank rank, core::ClientId client);

  // That connection has seen the end of so many fences over the job under a
  // former agent.
  void OnResumed(Rank rank, core::ClientId client, uint64_t fences);

  // A fence over the whole job comes by message from a connection of `rank`;
  // call it before the core hears of that. Its end, however, is told later.
  void OnMessage(Rank rank);
  void OnMessageDone(int status);

  // The core has heard of a commit of that connection. No arrival counts
  // before the commits that were sent before it.
  void OnCommit(Rank rank, core::ClientId client);
  // A member says that all are in.
  void OnFull();
  // The core answers an arrival at the gate.
  void OnReply(Rank rank, int status);
  // From time to time: hands over to the core what does not move.
  void Watch();

 private:
  struct Place {
    Rank rank = 0;
    core::ClientId holder = 0;  // 0: none
    bool waiting = false;       // is in, and the gate is closed
    bool behind = false;        // waits, and commits of it are to be read
    uint32_t commits = 0;       // of the holder, read
    uint32_t commits_due = 0;   // to read while `behind`
    uint64_t arrivals = 0;      // that the core has heard of
  };

  FenceGate(std::unique_ptr<shm::GateKeeper> keeper,
            const std::vector<Rank>& ranks, bool local_only, InputSink* sink,
            Defer defer, TakeCommits take_commits);
  // Fewer commits were read than were due when it came; both may wrap.
  static bool IsBehind(const Place& place) {
    return static_cast<int32_t>(place.commits_due - place.commits) > 0;
  }
  Place* Find(Rank rank);
  void HandOver();
  // Closes the gate for those who are in. `to_core`: the core ends the fence.
  void Take(bool to_core);
  void CaughtUp(Place* place);
  void Tell(const Place& place);
  void Leave(Place* place);
  void Release(int status);
  void MaybeOpen();

  const std::shared_ptr<shm::GateKeeper> keeper_;
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
  int worst_ = 0;            // answer so far to those that wait
  bool answered_ = false;    // the core has answered one of them
  bool failed_ = false;      // for good
};

}  // namespace canopy::local

#endif  // CANOPY_SERVER_LOCAL_FENCE_GATE_H_
