// PMIx_Query_info: answers what this agent and others know, for its clients.
#ifndef CANOPY_SERVER_CORE_QUERY_QUERIES_H_
#define CANOPY_SERVER_CORE_QUERY_QUERIES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/ids.h"
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
#include "server/core/tree.h"
#include "server/core/why.h"

namespace canopy::core {

// How long other agents may take. What they have not said by then is not known,
// and the keys that need it have no answer.
inline constexpr TimeNs kQueryTime = 3'000'000'000;
// The same of one that the host is asked too; the host itself may take a
// second less, so that it can say why it has no answer.
inline constexpr TimeNs kHostQueryTime = 11'000'000'000;
// Calls under way of one process; more are refused (kErrOutOfResource).
inline constexpr size_t kMaxCallsOfProcess = 64;
// And of all of an agent's clients (kErrResourceBusy).
inline constexpr size_t kMaxCalls = 4096;

// A call is in three stages, each of which may take no time: the maps of the
// jobs that it names are here, or known not to exist; the agents that know the
// answers, this one among them, and the host have been asked; all of them have
// answered, or are lost. Queries change nothing: a client that has reattached
// asks again, and so is an agent that was restarted.
//
// Not synchronised. What the constructor gets outlives it.
class Queries {
 public:
  Queries(NodeId self, const std::vector<std::string>& node_names,
          const Tree& tree, JobTable& jobs, const JobEngine& engine,
          const ProcessSets& sets);
  // Numbers start at this time, so that late answers to a predecessor's
  // requests match none of them.
  void set_began(TimeNs when) { next_ += static_cast<uint64_t>(when); }

  void OnArrived(TimeNs now, const QueryArrived& in, Actions* actions);
  void OnRequest(TimeNs now, NodeId src, const FactsRequest& request,
                 Actions* actions);
  void OnReply(NodeId src, const FactsReply& reply, Actions* actions);
  void OnRead(const FactsRead& read, Actions* actions);
  // False: it is of no query.
  bool OnHostAnswered(const HostAnswered& in, Actions* actions);
  void OnClientGone(ClientId client);
  void OnJobAdded(TimeNs now, const std::string& nspace, Actions* actions);
  void OnJobUnknown(TimeNs now, const std::string& nspace, Actions* actions);
  // Local processes of the job were started, or have ended.
  void OnProcesses(TimeNs now, const std::string& nspace, Actions* actions);
  void OnNodeLost(NodeId node, Actions* actions);
  // Requests and answers in flight to it or through it are lost.
  void OnNodeRestarted(NodeId node, Actions* actions);
  void OnTick(TimeNs now, Actions* actions);
  TimeNs NextDeadline() const;

  // Namespaces whose maps are needed, since the last call.
  std::vector<std::string> TakeWanted();
  bool has_wanted() const { return !wanted_.empty(); }
  // Adds the calls under way. An empty namespace means all.
  void Describe(TimeNs now, const std::string& nspace,
                std::vector<Waiting>* out) const;
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
    // Whose jobs alone it may know of; none: all, as a tool of the agent's
    // user.
    std::optional<uint32_t> uid;
    uint32_t gid = kAgentsUser;  // of that user
    std::string host_job;        // of its job; empty: a tool
    std::vector<Query> queries;
    TimeNs since = 0;
    TimeNs deadline = kNever;
    bool timed = false;            // the caller has set the deadline
    std::set<std::string> maps;    // that are awaited
    std::map<uint64_t, Ask> asks;  // that are not answered
    // What the host is asked, by the number of its AskHost: which query.
    std::map<uint64_t, size_t> hosts;
    int host_status = 0;   // of the first that it could not answer
    uint64_t reading = 0;  // the ReadFacts that is awaited; 0: none
    GatheredFacts facts;
    bool too_many_jobs = false;  // for one answer of an agent
  };
  using Calls = std::map<uint64_t, Call>;

  QueryScope ScopeOf(const Call& call) const {
    return {self_, node_names_, jobs_, call.caller, call.uid};
  }
  size_t NumOf(const ProcId& caller) const;
  void SetDeadline(TimeNs now, Call* call) const;
  void WantMaps(Call* call);
  void OnMap(TimeNs now, const std::string& nspace, Actions* actions);
  // Asks whoever knows, once the maps are here.
  void Begin(TimeNs now, uint64_t id, Actions* actions);
  // As far as it goes; it may be over, and gone, afterwards.
  void Advance(uint64_t id, Actions* actions);
  bool AskAgents(TimeNs now, uint64_t id, Call* call, Actions* actions);
  void AskHosts(uint64_t id, Call* call, Actions* actions);
  // `query`: which of the call; or what it supports.
  void AskHostFor(uint64_t id, size_t query, Bytes keys, Call* call,
                  Actions* actions);
  void ReadData(uint64_t id, const FactPlan& plan, Call* call,
                Actions* actions);
  void Send(TimeNs now, const Ask& ask, Actions* actions);
  // Requests that have waited.
  void Serve(TimeNs now, const std::vector<FactsService::Request>& requests,
             Actions* actions);
  void Note(NodeId src, FactsReply reply, Actions* actions);
  void TakeJobs(NodeId src, const FactsReply& reply,
                const FactsRequest& request, Call* call) const;
  void Take(NodeId src, const FactsReply& reply, Call* call) const;
  void Finish(uint64_t id, bool in_time, Actions* actions);
  // Replies with that status; kSuccess: there is nobody to answer any more.
  void End(uint64_t id, int status, Actions* actions);

  const NodeId self_;
  const std::vector<std::string>& node_names_;
  const Tree& tree_;
  JobTable& jobs_;
  const JobEngine& engine_;
  const ProcessSets& sets_;
  FactsService service_;
  Calls calls_;
  // By the number of an ask, a read or an AskHost.
  std::map<uint64_t, uint64_t> call_of_;
  uint64_t next_ = 1;
  std::vector<std::string> wanted_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_QUERY_QUERIES_H_
