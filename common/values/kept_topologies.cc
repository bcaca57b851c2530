#include "common/values/kept_topologies.h"

#include <utility>

#include "common/mutex.h"

namespace canopy {
namespace {

// Never destroyed, because a program may free topologies while it exits.
struct Kept {
  Mutex mu;
  std::vector<pmix_topology_t> all CANOPY_GUARDED_BY(mu);
};

Kept& TheKept() {
  static auto* const kept = new Kept;
  return *kept;
}

}  // namespace

void KeepTopology(const pmix_topology_t& topology) {
  Kept& kept = TheKept();
  const MutexLock lock(kept.mu);
  kept.all.push_back(topology);
}

void ForgetTopology(const pmix_topology_t& topology) {
  Kept& kept = TheKept();
  const MutexLock lock(kept.mu);
  std::erase_if(kept.all, [&](const pmix_topology_t& entry) {
    return entry.topology == topology.topology;
  });
}

std::vector<pmix_topology_t> TakeKeptTopologies() {
  Kept& kept = TheKept();
  const MutexLock lock(kept.mu);
  return std::exchange(kept.all, {});
}

}  // namespace canopy
