// Answers what other agents, or the queries of this one, ask about the
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
#include "server/core/step/action.h"
#include "server/core/step/clock.h"
#include "server/core/step/facts.h"

namespace canopy::core {

// Requests that are measured at a time; more are refused (kErrResourceBusy).
inline constexpr size_t kMaxMeasurements = 1024;

// How long a request waits for the numbers of processes that are being started,
// which may be connected by then. Afterwards they are not known.
inline constexpr TimeNs kStartTime = 1'000'000'000;
// Requests that wait so at a time; more are answered at once.
inline constexpr size_t kMaxAwaiting = 1024;

// FactsRequest::rank where jobs are asked for and their names are enough:
// command lines are long.
inline constexpr Rank kNamesOnly = kRankUndef;

// Not synchronised. What it refers to outlives it.
class FactsService {
 public:
  FactsService(NodeId self, const JobTable& jobs, const JobEngine& engine)
      : self_(self), jobs_(jobs), engine_(engine) {}

  struct Request {
    NodeId src = kNoNode;
    FactsRequest facts;
    TimeNs until = kNever;
  };

  // The answer, without anything when there is more than one can hold
  // (kErrOutOfResource); none: it follows from OnRead, when the memory is
  // measured, or from what TakeStarted and TakeLate give. `number` is of the
  // measurement, and must not be in use.
  std::optional<FactsReply> OnRequest(TimeNs now, NodeId src,
                                      const FactsRequest& request,
                                      uint64_t number, Actions* actions);
  // The same without waiting for processes that are being started.
  std::optional<FactsReply> Answer(TimeNs now, NodeId src,
                                   const FactsRequest& request, uint64_t number,
                                   Actions* actions);
  // Requests that have waited: for processes of that job, all of which are
  // there now or have ended; or as long as they may.
  std::vector<Request> TakeStarted(const std::string& nspace);
  std::vector<Request> TakeLate(TimeNs now);
  TimeNs NextDeadline() const;
  // The answer to a request that awaits this, and whose request it is.
  std::optional<std::pair<NodeId, FactsReply>> OnRead(const FactsRead& read);

  // Nobody waits for it any more.
  void OnNodeLost(NodeId node);
  size_t size() const { return measured_.size() + awaiting_.size(); }

 private:
  struct Measured {
    NodeId src = kNoNode;
    FactsReply reply;
    // The measured processes: first these of the reply, then clients.
    std::vector<size_t> processes;
  };

  bool NamesStarting(const FactsRequest& request) const;
  std::vector<Request> Take(const std::function<bool(const Request&)>& which);
  void AddProcesses(const FactsRequest& request, FactsReply* reply) const;
  void AddJobs(TimeNs now, const FactsRequest& request,
               FactsReply* reply) const;
  void AddControlled(TimeNs now, const std::string& nspace,
                     FactsReply* reply) const;
  void AddClients(std::vector<int>* pids) const;

  const NodeId self_;
  const JobTable& jobs_;
  const JobEngine& engine_;
  std::map<uint64_t, Measured> measured_;
  std::vector<Request> awaiting_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_QUERY_FACTS_SERVICE_H_
