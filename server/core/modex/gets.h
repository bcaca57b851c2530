// PMIx_Get beyond shared memory: answers from known data, holds requests for
// data that may still be committed, fetches from the agents of other nodes
// (direct modex) and serves their requests.
#ifndef CANOPY_SERVER_CORE_MODEX_GETS_H_
#define CANOPY_SERVER_CORE_MODEX_GETS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/modex/held_gets.h"
#include "server/core/modex/modex.h"
#include "server/core/step/action.h"
#include "server/core/step/client_id.h"
#include "server/core/step/client_inputs.h"
#include "server/core/step/step_context.h"
#include "server/core/tree.h"
#include "server/core/why.h"

namespace canopy::core {

// Gets that one agent holds at most; more are refused (kErrResourceBusy).
inline constexpr size_t kMaxHeldGets = size_t{1} << 20;
// Of them, those of one local client; more are refused (kErrOutOfResource).
inline constexpr size_t kMaxHeldGetsOfClient = size_t{1} << 16;

// How a get ends:
//   kSuccess                 the key is published (a get without key: there is
//                            something); for rank wildcard of another
//                            namespace: its job data is registered here
//   kErrExistsOutsideScope   the key exists, but not for ranks of this node
//   kErrNotFound             it is not there and can not or must not be waited
//                            for: immediate, refreshed, target ended, no such
//                            rank or namespace
//   kErrNoPermissions        it is of a job of another user that has not met
//                            the caller's
//   kErrTimeout, kErrUnreach (the target's agent is lost), kErrJobTerminated
//
// Not synchronised. Tree, table and store outlive it and have been updated
// before it is notified of a change in them.
class Gets {
 public:
  Gets(NodeId self, const Tree& tree, JobTable& jobs, ModexStore& modex);
  // Request numbers start at this time, so that late answers to a predecessor's
  // requests match none of them.
  void set_began(TimeNs when) { next_fetch_ += static_cast<uint64_t>(when); }

  void OnGet(TimeNs now, const GetArrived& in, Actions* actions);
  // The target's rank names a process; requests for a map are not for this.
  void OnRequest(TimeNs now, NodeId src, const DmodexRequest& request,
                 Actions* actions);
  void OnReply(TimeNs now, NodeId src, const DmodexReply& reply,
               Actions* actions);
  // Data of a rank was committed here, or came from elsewhere.
  void OnData(TimeNs now, const DataChange& change, Actions* actions);
  void OnClientGone(ClientId client);
  void OnJobAdded(TimeNs now, const std::string& nspace, Actions* actions);
  void OnJobUnknown(TimeNs now, const std::string& nspace, Actions* actions);
  void OnJobRemoved(TimeNs now, const std::string& nspace, Actions* actions);
  // A local process was started.
  void OnProcess(TimeNs now, const ProcId& proc, Actions* actions);
  void OnRankGone(TimeNs now, const ProcId& proc, Actions* actions);
  void OnNodeLost(TimeNs now, NodeId node, Actions* actions);
  // Requests and answers in flight to it or through it are lost.
  void OnNodeRestarted(TimeNs now, NodeId node, Actions* actions);
  void OnTick(TimeNs now, Actions* actions);
  TimeNs NextDeadline() const;

  size_t num_held() const { return held_.size(); }
  size_t num_fetches() const { return fetches_.size(); }
  // Namespaces whose maps are needed, since the last call.
  std::vector<std::string> TakeWanted();
  bool has_wanted() const { return !wanted_.empty(); }
  void Describe(TimeNs now, const std::string& nspace,
                std::vector<Waiting>* out) const;

 private:
  using Held = HeldGet;
  // One request under way to another agent.
  struct Fetch {
    ProcId target;
    std::string key;
    NodeId node = kNoNode;
    uint64_t held = 0;  // for this one only; 0: for all who want the key
  };
  // The status to answer with now, or nothing while the request must wait.
  std::optional<int> Decide(const Held& held) const;
  std::optional<int> DecideForPeer(const Held& held) const;
  std::optional<int> DecideForClient(const Held& held, const Job& job) const;
  std::optional<int> DecideUndef(const Held& held) const;
  std::optional<int> DecideWildcard(const Held& held) const;
  std::optional<int> DecideHere(const Held& held) const;
  std::optional<int> DecideProcess(const Held& held, const Job& job) const;
  std::optional<int> DecideLocal(const Held& held, const Job& job) const;
  std::optional<int> DecideRemote(const Held& held, const Job& job) const;
  bool IsForeign(const Held& held) const;
  bool MaySee(const Held& held) const;

  void Take(StepContext& step, Held held);
  void Answer(StepContext& step, const Held& held, int status);
  // What SeenHere or FactOf says, to a local client.
  Bytes PayloadFor(const Held& held) const;
  // Answers what can be answered among these.
  void Retry(StepContext& step, const std::vector<uint64_t>& ids);
  // Among those held for a target, that want one of these keys or any.
  void RetryKeys(StepContext& step, const ProcId& target,
                 const DataChange& change);
  void RetryQualified(StepContext& step, const ProcId& target,
                      std::string_view stored);
  void Finish(StepContext& step, uint64_t id, int status);
  // Its deadline has passed; true: it has a later one.
  bool PutOff(TimeNs now, uint64_t id);
  // Requests that depend on a fetch.
  std::vector<uint64_t> IdsOf(const Fetch& fetch) const;
  // Asks the target's local ranks, or its agent unless a fetch is pending.
  void StartFetch(StepContext& step, uint64_t id);
  void AwaitCommit(StepContext& step, const Job& job, Rank rank) const;
  void Ask(StepContext& step, uint64_t number, const Fetch& fetch);
  void StoreReply(StepContext& step, const Fetch& fetch,
                  const DmodexReply& reply);
  // Of a process fact: it goes to those who asked and to nobody else.
  void PassOn(StepContext& step, const std::vector<uint64_t>& ids,
              const DmodexReply& reply);
  uint32_t TimeLeft(TimeNs now, const Fetch& fetch) const;

  const NodeId self_;
  const Tree& tree_;
  JobTable& jobs_;
  ModexStore& modex_;
  HeldGets held_;
  std::map<uint64_t, Fetch> fetches_;
  std::map<std::pair<ProcId, std::string>, uint64_t> fetch_of_;
  uint64_t next_fetch_ = 1;
  std::vector<std::string> wanted_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_MODEX_GETS_H_
