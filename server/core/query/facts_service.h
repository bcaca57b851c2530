// Answers requests of other agents, and of this agent's own queries, about the
// processes, the jobs and the memory of this node.
#ifndef CANOPY_SERVER_CORE_QUERY_FACTS_SERVICE_H_
#define CANOPY_SERVER_CORE_QUERY_FACTS_SERVICE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "server/core/job/engine.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/clock.h"
#include "server/core/step/facts.h"
#include "server/core/step/step_context.h"

namespace canopy::core {

// Maximum number of requests whose memory or statistics are being measured;
// more fail with kErrResourceBusy.
inline constexpr size_t kMaxMeasurements = 1024;

// Maximum time for which a request waits until the PIDs of starting processes
// are known. Afterwards these PIDs are reported as unknown.
inline constexpr TimeNs kStartTime = 1'000'000'000;
// Maximum number of requests that wait for starting processes; more are
// answered at once.
inline constexpr size_t kMaxAwaiting = 1024;

// FactsRequest::rank of a request that needs only the names of jobs. Their
// command lines, which are long, are left out.
inline constexpr Rank kNamesOnly = kRankUndef;

// Not synchronised. The references passed to the constructor outlive this
// object. Times are in nanoseconds.
class FactsService {
 public:
  FactsService(NodeId self, const JobTable& jobs, const JobEngine& engine)
      : self_(self), jobs_(jobs), engine_(engine) {}

  struct Request {
    NodeId src = kNoNode;
    FactsRequest facts;
    TimeNs until = kNever;
  };

  // Returns the answer. Its status is kErrOutOfResource, without content, if
  // the answer would exceed the limit, and kErrResourceBusy if too many
  // measurements are in progress. Returns no value if the answer comes later:
  // from OnRead when the memory is measured, or by Answer for a request that
  // TakeStarted or TakeLate returns. `number` identifies the measurement and
  // must not be in use.
  std::optional<FactsReply> OnRequest(const StepContext& step, NodeId src,
                                      const FactsRequest& request,
                                      uint64_t number);
  // Like OnRequest, but does not wait for processes that are being started.
  std::optional<FactsReply> Answer(const StepContext& step, NodeId src,
                                   const FactsRequest& request,
                                   uint64_t number);
  // Both functions remove waiting requests and return them. TakeStarted returns
  // those about a job whose processes have all been started or have ended, and
  // TakeLate those that have waited for kStartTime.
  std::vector<Request> TakeStarted(const std::string& nspace);
  std::vector<Request> TakeLate(TimeNs now);
  TimeNs NextDeadline() const;
  // Returns the answer that this measurement completes, and the agent to which
  // the answer must be sent; no value if there is no such request.
  std::optional<std::pair<NodeId, FactsReply>> OnRead(const FactsRead& read);

  // Drops the requests of that agent.
  void OnNodeLost(NodeId node);
  size_t size() const { return measured_.size() + awaiting_.size(); }

 private:
  struct Measured {
    NodeId src = kNoNode;
    FactsReply reply;
    // The processes whose memory is measured: those of the reply, by their
    // indices in reply.processes, and after them the clients of the agent.
    std::vector<size_t> processes;
    std::vector<size_t> users;  // processes with measured statistics
  };

  bool NamesStarting(const FactsRequest& request) const;
  std::vector<Request> Take(const std::function<bool(const Request&)>& which);
  void AddProcesses(const FactsRequest& request, FactsReply* reply) const;
  void AddJobs(TimeNs now, const FactsRequest& request,
               FactsReply* reply) const;
  void AddControlled(TimeNs now, const std::string& nspace,
                     FactsReply* reply) const;
  void AddClients(std::vector<int>* pids) const;
  // Appends the PIDs of the reply's running processes to `*pids`. Returns the
  // indices of these processes.
  static std::vector<size_t> AddRunning(const FactsReply& reply,
                                        std::vector<int>* pids);

  const NodeId self_;
  const JobTable& jobs_;
  const JobEngine& engine_;
  std::map<uint64_t, Measured> measured_;
  std::vector<Request> awaiting_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_QUERY_FACTS_SERVICE_H_
