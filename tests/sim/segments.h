// Stand-ins for the shared memory of nodes.
#ifndef CANOPY_TESTS_SIM_SEGMENTS_H_
#define CANOPY_TESTS_SIM_SEGMENTS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/ids.h"
#include "server/core/step/job_actions.h"
#include "tests/sim/oracle.h"
#include "tests/sim/settings.h"

namespace canopy::sim {

// The data that processes of each node can read. Reports changes to the oracle.
class Segments {
 public:
  using Published = std::map<ProcId, core::PublishRank>;

  // `oracle` and `errors` must outlive this object.
  Segments(uint32_t nodes, Oracle& oracle, Errors& errors)
      : nodes_(nodes), oracle_(oracle), errors_(errors) {}

  void On(NodeId node, core::RegisterJob& a);
  void On(NodeId node, core::DropJob& a);
  void On(NodeId node, core::PublishRank& a);
  void On(NodeId node, core::SetIncarnation& a) {
    nodes_[node].incarnations[a.proc] = a.incarnation;
  }

  // Returns the KVALs of a rank; empty if there are none.
  std::string PublishedOf(NodeId node, const ProcId& proc) const;
  // Returns the keys of a rank that processes of this node may not see.
  std::vector<std::string> OutsideOf(NodeId node, const ProcId& proc) const;
  uint32_t IncarnationOf(NodeId node, const ProcId& proc) const {
    const auto it = nodes_[node].incarnations.find(proc);
    return it == nodes_[node].incarnations.end() ? 0 : it->second;
  }
  bool IsRegistered(NodeId node, const std::string& nspace) const {
    return nodes_[node].registered.contains(nspace);
  }
  // Removes the segments of an agent that is gone. Returns their contents.
  Published Reset(NodeId node);
  void AddLeftovers(NodeId node, std::vector<std::string>* out) const;

  // Makes room for the next node.
  void AddNode() { nodes_.emplace_back(); }

 private:
  struct Node {
    std::set<std::string> registered;
    Published published;
    std::map<ProcId, uint32_t> incarnations;  // by restarted rank
  };

  std::vector<Node> nodes_;
  Oracle& oracle_;
  Errors& errors_;
};

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_SEGMENTS_H_
