// Maps of jobs without local ranks that local clients refer to: requested from
// the root and released when the job is over.
#ifndef CANOPY_SERVER_CORE_JOB_MAPS_H_
#define CANOPY_SERVER_CORE_JOB_MAPS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/action.h"
#include "server/core/tree.h"

namespace canopy::core {

// A DmodexRequest for rank wildcard asks for the job's map; the data of the
// answer is EncodeJobSpec, or nothing when the request has a key: then only
// whether the job is still known is asked. Not synchronised.
class JobMaps {
 public:
  JobMaps(NodeId self, const Tree& tree, JobTable& jobs);

  // Requests the job's map: it is added to the table (JobChanges::added), or
  // TakeUnknown names it.
  void Want(TimeNs now, const std::string& nspace, Actions* actions);
  // True when the message was about a map.
  bool OnRequest(NodeId src, const DmodexRequest& request, Actions* actions);
  bool OnReply(NodeId src, const DmodexReply& reply);
  // `src` reports that the job is over; accepted only from the agent that
  // supplied the map or is being asked for it.
  void OnForget(NodeId src, const std::string& nspace);
  // A job that this agent is about to take part in is not borrowed.
  void OnPrepare(const Bytes& spec);
  // Notifies the agents that borrowed the map.
  void OnJobRemoved(const RemovedJob& job, Actions* actions) const;
  void OnTreeChanged(Actions* actions);
  // `node` has a successor agent, which has none of its predecessor's messages.
  void OnNodeRestarted(NodeId node, Actions* actions);
  // Besides OnTreeChanged: messages in flight through it are lost.
  void OnNodeLost(Actions* actions) const;
  void OnTick(TimeNs now);
  TimeNs NextDeadline() const;

  size_t num_requests() const { return asked_.size(); }
  // Namespaces unknown everywhere, since the last call.
  std::vector<std::string> TakeUnknown();

 private:
  struct Ask {
    uint64_t request = 0;
    NodeId node = kNoNode;
    TimeNs deadline = kNever;
  };

  void Send(const std::string& nspace, Ask* ask, Actions* actions);
  void Forget(const std::string& nspace);

  const NodeId self_;
  const Tree& tree_;
  JobTable& jobs_;
  std::map<std::string, Ask> asked_;
  std::map<std::string, NodeId, std::less<>> borrowed_;  // value: from whom
  std::vector<std::string> unknown_;
  uint64_t next_request_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_MAPS_H_
