// Membership of the overlay, for status reports.
#ifndef CANOPY_SERVER_AGENT_MEMBERSHIP_MEMBERSHIP_H_
#define CANOPY_SERVER_AGENT_MEMBERSHIP_MEMBERSHIP_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/status.h"
#include "protos/bootstrap.pb.h"
#include "protos/control.pb.h"
#include "server/control/job_record.h"
#include "server/core/step/peer_inputs.h"
#include "server/core/tree.h"
#include "server/ports/input_observer.h"

namespace canopy::agent {

// Loop thread only.
class Membership : public InputObserver {
 public:
  explicit Membership(const bootstrap::v1::Config& config);

  void Set(const bootstrap::v1::Members& members);
  void OnNodeStateChanged(const core::NodeStateChanged& change) override;

  bool up(NodeId node) const { return tree_.alive(node); }
  // Nobody is above it: it controls new jobs.
  bool IsRoot(NodeId node) const {
    return tree_.alive(node) && tree_.parent(node) == kNoNode;
  }
  std::string Name(NodeId node) const;
  // It takes no new jobs for this reason; empty: it does. kErrNotFound.
  Status Drain(const std::string& name, const std::string& reason);
  // Empty: it takes jobs.
  const std::string& WhyDrained(NodeId node) const {
    return entries_[node].drained;
  }
  // Why the node of that name or alias is lost. Empty for others.
  std::string LostNode(const std::string& name) const;
  control::v1::StatusReply Describe(const control::JobRecords& jobs) const;

 private:
  struct Entry {
    bootstrap::v1::NodeInfo info;
    std::string down_reason;
    std::string drained;  // why
  };

  core::Tree tree_;
  std::vector<Entry> entries_;
  int64_t since_;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_MEMBERSHIP_MEMBERSHIP_H_
