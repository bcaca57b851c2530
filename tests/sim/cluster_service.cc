// Decisions about members.
#include "tests/sim/cluster.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

void Cluster::SetInService(NodeId node, bool in_service) {
  in_service_[node] = in_service;
  members_.SetInService(node, in_service);
  for (NodeId other = 0; other < members_.size(); ++other) {
    if (!members_.alive(other)) continue;
    inputs_.PostAt(now() + random_.Delay(10), other,
                   MemberServes{node, in_service});
  }
}

void Cluster::LearnService(NodeId node) {
  for (const auto& [member, in_service] : in_service_) {
    agents_.Step(node, MemberServes{member, in_service});
  }
}

}  // namespace canopy::sim
