#include "server/core/dispatch/lending.h"

#include <set>

namespace canopy::core {
namespace {

std::set<NodeId> Borrowers(const Engines& e) {
  std::set<NodeId> out = {e.tree.root(), e.tree.leader()};
  out.erase(e.self);
  out.erase(kNoNode);
  return out;
}

}  // namespace

void LendJob(Engines& e, const std::string& nspace) {
  if (!e.engine.Controls(nspace)) return;
  for (const NodeId node : Borrowers(e)) {
    e.maps.Offer(e.step(), nspace, node, e.engine.LostOf(nspace));
  }
}

void LendJobs(Engines& e) {
  if (Borrowers(e).empty()) return;
  for (const std::string& nspace : e.engine.Controlled()) LendJob(e, nspace);
}

}  // namespace canopy::core
