// PMIx_Query_info (PMIx Standard, chapter "Query"): answers clients with the
// facts of this agent, of other agents and of the host.
#ifndef CANOPY_SERVER_CORE_QUERY_QUERIES_H_
#define CANOPY_SERVER_CORE_QUERY_QUERIES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "server/core/engine.h"
#include "server/core/job/engine.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/pset/process_sets.h"
#include "server/core/query/fact_plan.h"
#include "server/core/query/facts_service.h"
#include "server/core/query/gathered_facts.h"
#include "server/core/query/query.h"
#include "server/core/query/query_scope.h"
#include "server/core/step/action.h"
#include "server/core/step/client_inputs.h"
#include "server/core/step/clock.h"
#include "server/core/step/facts.h"
#include "server/core/step/host.h"
#include "server/core/step/step_context.h"
#include "server/core/step/usage.h"
#include "server/core/tree.h"
#include "server/core/why.h"

namespace canopy::core {

// Time limit for the answers of other agents, in nanoseconds. A key whose
// answer arrives later is reported as not found.
inline constexpr TimeNs kQueryTime = 3'000'000'000;
// Time limit for a call that involves the host. The host's own limit is a
// second shorter, so that its error reaches the caller.
inline constexpr TimeNs kHostQueryTime = 11'000'000'000;
// Maximum number of calls in progress of one process; more fail with
// kErrOutOfResource.
inline constexpr size_t kMaxCallsOfProcess = 64;
// Maximum number of calls in progress of all clients, of which a job has its
// share (HasShare); more fail with kErrResourceBusy.
inline constexpr size_t kMaxCalls = 4096;

// A call passes three stages, each of which may be immediate:
// - wait for the maps of the jobs that the call names, or for the answer that
//   there is no such job;
// - send requests to the agents that know the answers (possibly this one) and
//   to the host;
// - wait until each of these has answered or is lost.
//
// Queries do not change any state, so they may be repeated: a client that has
// reattached repeats them, and requests are sent again to an agent that was
// restarted.
//
// Not synchronised. The references passed to the constructor outlive this
// object. Times are in nanoseconds.
class Queries final : public Engine {
 public:
  Queries(NodeId self, const std::vector<std::string>& node_names,
          const Tree& tree, JobTable& jobs, const JobEngine& engine,
          const ProcessSets& sets);
  // Starts the numbering at the time of this agent's start, so that a late
  // answer to a predecessor's request matches no request of this agent.
  void set_began(TimeNs when) override { next_ += static_cast<uint64_t>(when); }

  void OnArrived(const StepContext& step, const QueryArrived& in);
  // Begins one sample of resource usage, which is gathered as the facts for a
  // query are. The caller sees the same jobs as with a query.
  void OnUsageWanted(const StepContext& step, const UsageWanted& in);
  void OnRequest(const StepContext& step, NodeId src,
                 const FactsRequest& request);
  void OnReply(const StepContext& step, NodeId src, const FactsReply& reply);
  void OnRead(const StepContext& step, const FactsRead& read);
  // Handles an answer of the host. Returns false if no query expects it.
  bool OnHostAnswered(const StepContext& step, const HostAnswered& in);
  void OnClientGone(const StepContext& step, ClientId client) override;
  void OnJobAdded(const StepContext& step, const std::string& nspace) override;
  void OnJobUnknown(const StepContext& step,
                    const std::string& nspace) override;
  // Called when local processes of the job were started or have ended.
  void OnProcesses(const StepContext& step, const std::string& nspace);
  void OnNodeLost(const StepContext& step, const NodeStateChanged& in) override;
  // Called when requests and answers on their way to the node or through it are
  // lost.
  void OnNodeRestarted(const StepContext& step, NodeId node) override;
  void OnTick(const StepContext& step) override;
  TimeNs NextDeadline() const override;

  // Appends the calls in progress of one namespace, or of all namespaces if
  // `nspace` is empty.
  void Describe(TimeNs now, const std::string& nspace,
                std::vector<Waiting>* out) const override;
  void Count(ResourceCounts* counts) const override {
    counts->queries = size();
  }
  size_t size() const { return calls_.size() + service_.size(); }

 private:
  struct Ask {
    NodeId node = kNoNode;
    FactsRequest request;
  };
  struct Call {
    ClientId client = 0;
    RequestId request = 0;
    ProcId caller;
    // The user whose jobs the caller may see. No value: it may see all jobs, as
    // a tool of the agent's own user does.
    std::optional<uint32_t> uid;
    uint32_t gid = kAgentsUser;  // the group of that user
    std::string host_job;  // host's name of the caller's job; empty for a tool
    std::vector<Query> queries;
    TimeNs since = 0;
    TimeNs deadline = kNever;
    bool timed = false;            // the caller has set the deadline
    std::set<std::string> maps;    // job maps that have not arrived
    std::map<uint64_t, Ask> asks;  // requests without answer
    // Requests to the host: the number of the AskHost and the index of the
    // query.
    std::map<uint64_t, size_t> hosts;
    int host_status = 0;   // the first error of the host
    uint64_t reading = 0;  // number of the pending ReadFacts; 0: none
    GatheredFacts facts;
    bool too_many_jobs = false;  // an agent's answer exceeded its limit
    // If set, the call is a sample of resource usage and has no queries.
    std::optional<UsageWanted> usage = std::nullopt;
  };
  using Calls = std::map<uint64_t, Call>;

  QueryScope ScopeOf(const Call& call) const {
    return {self_, node_names_, jobs_, call.caller, call.uid};
  }
  size_t NumOf(const ProcId& caller) const;
  bool HasRoomFor(const std::string& nspace) const;
  void SetDeadline(TimeNs now, Call* call) const;
  void NoteIgnored(const StepContext& step, const Call& call);
  void WantMaps(Call* call);
  void WantMap(const std::string& nspace, Call* call);
  void OnMap(const StepContext& step, const std::string& nspace);
  // Sends the requests of the call when all maps have arrived.
  void Begin(const StepContext& step, uint64_t id);
  // Finishes the call if all answers have arrived; the call may be gone
  // afterwards.
  void Advance(const StepContext& step, uint64_t id);
  bool AskAgents(const StepContext& step, uint64_t id, Call* call);
  using Asks = std::vector<std::pair<NodeId, FactsRequest>>;
  bool HasRoom(const Asks& asks) const;
  bool AskFor(const StepContext& step, uint64_t id, const Asks& asks,
              Call* call);
  void AskHosts(const StepContext& step, uint64_t id, Call* call);
  // `query` is the index of the query in the call, or kOfSupport.
  void AskHostFor(const StepContext& step, uint64_t id, size_t query,
                  Bytes keys, Call* call);
  void ReadData(const StepContext& step, uint64_t id, const FactPlan& plan,
                Call* call);
  void Send(const StepContext& step, const Ask& ask);
  // Answers the requests, which have waited for starting processes.
  void Serve(const StepContext& step,
             const std::vector<FactsService::Request>& requests);
  void Note(const StepContext& step, NodeId src, FactsReply reply);
  void TakeJobs(NodeId src, const FactsReply& reply,
                const FactsRequest& request, Call* call) const;
  void Take(NodeId src, const FactsReply& reply, Call* call) const;
  void Finish(const StepContext& step, uint64_t id, bool in_time);
  void FinishUsage(const StepContext& step, uint64_t id);
  static void Reply(const StepContext& step, const Call& call, int status,
                    Bytes payload);
  // Removes the call and replies with `status`; does not reply for kSuccess.
  void End(const StepContext& step, uint64_t id, int status);

  const NodeId self_;
  const std::vector<std::string>& node_names_;
  const Tree& tree_;
  JobTable& jobs_;
  const JobEngine& engine_;
  const ProcessSets& sets_;
  FactsService service_;
  Calls calls_;
  // The call of each pending request, ReadFacts or AskHost, by its number.
  std::map<uint64_t, uint64_t> call_of_;
  uint64_t next_ = 1;
  std::set<std::string> ignored_;  // qualifiers that the log has mentioned
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_QUERY_QUERIES_H_
