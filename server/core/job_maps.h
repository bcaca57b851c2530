// Maps of jobs that an agent has no part in but its clients deal with: asked
// for at the root and given back when the job is over.
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

  // Makes sure that the table knows the job soon (JobChanges::added), or that
  // TakeUnknown names it.
  void Want(TimeNs now, const std::string& nspace, Actions* actions);
  // True when the message was about a map.
  bool OnRequest(NodeId src, const DmodexRequest& request, Actions* actions);
  bool OnReply(NodeId src, const DmodexReply& reply);
  // `src` says that the job is over: it is believed of whom the map is from, or
  // is asked for it.
  void OnForget(NodeId src, const std::string& nspace);
  // A job of which this agent is about to get its part is not borrowed.
  void OnPrepare(const Bytes& spec);
  // Tells those who borrowed a map.
  void OnJobRemoved(const RemovedJob& job, Actions* actions) const;
  void OnTreeChanged(Actions* actions);
  // `node` has an agent that knows nothing of what its predecessor was told.
  void OnNodeRestarted(NodeId node, Actions* actions);
  // Besides OnTreeChanged: word that was on its way through it is lost.
  void OnNodeLost(Actions* actions) const;
  void OnTick(TimeNs now);
  TimeNs NextDeadline() const;

  size_t num_requests() const { return asked_.size(); }
  // Namespaces that nobody knows, since the last call.
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
