// PMIx_Get beyond shared memory (PMIx Standard, chapter "Process-Related
// Non-Reserved Keys"): answers from known data, holds requests for data that
// may still be committed, fetches from the agents of other nodes (direct
// modex), and serves their requests.
#ifndef CANOPY_SERVER_CORE_MODEX_GETS_H_
#define CANOPY_SERVER_CORE_MODEX_GETS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "common/ids.h"
#include "server/core/engine.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/modex/held_gets.h"
#include "server/core/modex/modex.h"
#include "server/core/step/client_id.h"
#include "server/core/step/client_inputs.h"
#include "server/core/step/step_context.h"
#include "server/core/tree.h"
#include "server/core/why.h"

namespace canopy::core {

// Maximum number of gets held by one agent, of which a job has its share
// (HasShare); more fail with kErrResourceBusy.
inline constexpr size_t kMaxHeldGets = size_t{1} << 20;
// Maximum number of gets held for one local client; more fail with
// kErrOutOfResource.
inline constexpr size_t kMaxHeldGetsOfClient = size_t{1} << 16;

// Results of a get:
//   kSuccess                 the key is published; without a key: the rank has
//                            data; for rank wildcard of another namespace: its
//                            job data is registered here
//   kErrExistsOutsideScope   the key exists, but not for ranks of this node
//   kErrNotFound             the key does not exist, and waiting is impossible
//                            or not allowed: immediate, refreshed, target
//                            ended, no such rank or namespace
//   kErrNoPermissions        the target's job belongs to another user, and the
//                            two jobs never took part in one operation. Checked
//                            by the caller's agent and by the target's, which
//                            knows the operations of its own processes
//   kErrTimeout              the time limit of the get has expired
//   kErrUnreach              the target's agent is lost
//   kErrJobTerminated        the target's job is over; an agent that requested
//                            the data gets kErrNotFound instead
//   kErrResourceBusy, kErrOutOfResource   too many gets are held
//
// Not synchronised. Tree, job table and store outlive this object; the caller
// updates them before it reports a change. Times are in nanoseconds.
class Gets final : public Engine {
 public:
  Gets(NodeId self, const Tree& tree, JobTable& jobs, ModexStore& modex);
  // Starts the request numbers at the time of this agent's start, so that a
  // late answer to a predecessor's request matches no request of this agent.
  void set_began(TimeNs when) override {
    next_fetch_ += static_cast<uint64_t>(when);
  }

  void OnGet(const StepContext& step, const GetArrived& in);
  // Serves another agent's request for the data of a process. The caller
  // handles requests for a job map itself.
  void OnRequest(const StepContext& step, NodeId src,
                 const DmodexRequest& request);
  void OnReply(const StepContext& step, NodeId src, const DmodexReply& reply);
  // Called when data of a rank was committed here or has arrived from another
  // node.
  void OnData(const StepContext& step, const DataChange& change);
  void OnClientGone(const StepContext& step, ClientId client) override;
  void OnJobAdded(const StepContext& step, const std::string& nspace) override;
  void OnJobUnknown(const StepContext& step,
                    const std::string& nspace) override;
  void OnJobRemoved(const StepContext& step, const RemovedJob& job) override;
  // Called when a local process was started, so that its PID is known.
  void OnProcess(const StepContext& step, const ProcId& proc);
  void OnRankGone(const StepContext& step, const ProcId& proc) override;
  void OnNodeLost(const StepContext& step, const NodeStateChanged& in) override;
  // Called when requests and answers on their way to the node or through it are
  // lost.
  void OnNodeRestarted(const StepContext& step, NodeId node) override;
  void OnTick(const StepContext& step) override;
  TimeNs NextDeadline() const override;

  void Count(ResourceCounts* counts) const override;
  size_t num_held() const { return held_.size(); }
  size_t num_fetches() const { return fetches_.size(); }
  // Appends the held gets of one namespace, or of all namespaces if `nspace` is
  // empty.
  void Describe(TimeNs now, const std::string& nspace,
                std::vector<Waiting>* out) const override;

 private:
  using Held = HeldGet;
  // A pending request to another agent.
  struct Fetch {
    ProcId target;
    std::string key;
    std::string reader;  // the namespace for which the data is requested
    std::optional<uint32_t> uid;  // its user, as in HeldGet
    NodeId node = kNoNode;
    uint64_t held = 0;  // the only get that it serves; 0: all of the reader
  };
  // Identifies a fetch that serves all gets of a key: target, key and reader.
  // Another job has a fetch of its own, because the target's agent may give it
  // another answer.
  using FetchKey = std::tuple<ProcId, std::string, std::string>;
  static FetchKey KeyOf(const Fetch& fetch) {
    return {fetch.target, fetch.key, fetch.reader};
  }
  // Returns the status of the answer, or no value while the get must wait.
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
  bool MayPeerSee(const Held& held, const Job& target) const;

  void Take(const StepContext& step, Held held);
  void Answer(const StepContext& step, const Held& held, int status);
  // Returns the data for a local client: SeenHere, or FactOf for a process
  // fact.
  Bytes PayloadFor(const Held& held) const;
  // Answers the gets in `ids` that can be answered now.
  void Retry(const StepContext& step, const std::vector<uint64_t>& ids);
  // Retries the gets of `target` that a change may answer.
  void RetryKeys(const StepContext& step, const ProcId& target,
                 const DataChange& change);
  void RetryQualified(const StepContext& step, const ProcId& target,
                      std::string_view stored);
  void Finish(const StepContext& step, uint64_t id, int status);
  // Postpones the deadline if a debugger holds the job of the caller or of the
  // target. Returns false if the deadline has really expired.
  bool PutOff(TimeNs now, uint64_t id);
  // Returns the gets that depend on a fetch.
  std::vector<uint64_t> IdsOf(const Fetch& fetch) const;
  // Requests the commits of those ranks of this node that the get is about. If
  // the target is on another node and the get is a local client's, requests the
  // data from the target's agent, unless such a request is pending.
  void StartFetch(const StepContext& step, uint64_t id);
  void AwaitCommit(const StepContext& step, const Job& job, Rank rank) const;
  void Ask(const StepContext& step, uint64_t number, const Fetch& fetch);
  void StoreReply(const StepContext& step, const Fetch& fetch,
                  const DmodexReply& reply);
  // Forwards a process fact to the gets that requested it, without storing it.
  void PassOn(const StepContext& step, const std::vector<uint64_t>& ids,
              const DmodexReply& reply);
  uint32_t TimeLeft(TimeNs now, const Fetch& fetch) const;

  const NodeId self_;
  const Tree& tree_;
  JobTable& jobs_;
  ModexStore& modex_;
  HeldGets held_;
  std::map<uint64_t, Fetch> fetches_;
  std::map<FetchKey, uint64_t> fetch_of_;
  uint64_t next_fetch_ = 1;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_MODEX_GETS_H_
