// The host that needs no scheduler: the overlay's nodes are the allocation,
// and jobs are mapped and launched here.
#ifndef CANOPY_HOSTMODULE_EMBEDDED_HOST_H_
#define CANOPY_HOSTMODULE_EMBEDDED_HOST_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/job.h"
#include "common/status.h"
#include "hostmodule/host_module.h"
#include "hostmodule/map_request.h"
#include "server/ports/ports.h"

namespace canopy::host {

// At the root of the overlay. Loop thread only.
class EmbeddedHost : public HostModule {
 public:
  // `sink` takes launches and ends, and outlives the host. `local_agent` is
  // where users are. `overlay_tag` becomes part of every namespace: it makes
  // them unique among overlays (see RandomTag).
  EmbeddedHost(InputSink* sink, NodeId local_agent, std::string overlay_tag);

  // 8 hexadecimal digits from the system's random source.
  static std::string RandomTag();

  // The overlay's nodes; slots_in_use is filled in by the host itself.
  void SetNodes(std::vector<MapNode> nodes);
  // A lost node gets no processes until it is back.
  void SetNodeUp(NodeId agent, bool up);
  const std::vector<MapNode>& nodes() const { return nodes_; }

  // Gives the job its namespace ("canopy-<tag>-<n>") and session, and maps it.
  // Its slots count as used as long as anybody holds the result, or until
  // OnJobChanged says that the job has ended. Errors as MapJob has them.
  // request.nspace, session_id and local_agent are ignored.
  Result<std::shared_ptr<const JobSpec>> Plan(MapRequest request);

  // Every report about every job.
  void OnJobChanged(const core::JobChanged& change);

  // Whole namespaces only; kErrNotSupported for single ranks.
  void Abort(const Requester& who, int status, const std::string& message,
             const std::vector<ProcId>& targets, StatusReply reply) override;
  void Spawn(const Requester& who, const MapRequest& job,
             NspaceReply reply) override;

 private:
  struct Spawning {
    std::shared_ptr<const JobSpec> job;
    NspaceReply reply;
  };

  std::vector<MapNode> UsableNodes();
  uint32_t SessionOf(const std::string& nspace) const;

  InputSink* const sink_;
  const NodeId local_agent_;
  const std::string tag_;
  uint64_t jobs_made_ = 0;
  std::vector<MapNode> nodes_;
  std::set<NodeId> down_;
  std::map<std::string, std::weak_ptr<const JobSpec>> jobs_;
  std::map<std::string, Spawning> spawning_;
};

}  // namespace canopy::host

#endif  // CANOPY_HOSTMODULE_EMBEDDED_HOST_H_
