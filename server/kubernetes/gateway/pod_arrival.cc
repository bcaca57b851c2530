#include "server/kubernetes/gateway/pod_arrival.h"

#include <algorithm>
#include <optional>

namespace canopy::kubernetes {
namespace {

// Returns the container by its id, else the only one that requests ranks, since
// the API server reports the id of a new container late. Returns null if that
// leaves a choice.
const Container* Find(const Pod& pod, const std::string& id) {
  const auto by_id =
      std::ranges::find_if(pod.containers, [&id](const Container& container) {
        return !id.empty() && container.container_id == id;
      });
  if (by_id != pod.containers.end()) return &*by_id;
  const Container* found = nullptr;
  for (const Container& container : pod.containers) {
    if (container.ranks == 0) continue;
    if (found != nullptr) return nullptr;
    found = &container;
  }
  return found;
}

bool HasRanks(const Pod& pod) {
  return std::ranges::any_of(pod.containers, [](const Container& container) {
    return container.ranks > 0;
  });
}

}  // namespace

Result<Arrival> ArrivalOf(const Pod& pod, const std::string& container_id) {
  const std::string name = "pod " + pod.nspace + "/" + pod.name;
  const Container* const container = Find(pod, container_id);
  if (!HasRanks(pod) || (container != nullptr && container->ranks == 0)) {
    return Status(kErrNoPermissions,
                  name + " requests no ranks for this container");
  }
  if (container == nullptr) {
    return Status(kErrNotSupported,
                  name + " has several containers that request ranks");
  }
  const std::optional<uint32_t> index = CompletionIndex(pod);
  if (pod.owner.kind != "Job" || !index) {
    return Status(kErrNotSupported, name + " belongs to no Indexed Job");
  }
  Arrival arrival;
  arrival.nspace = pod.nspace;
  arrival.job = pod.owner.name;
  arrival.job_uid = pod.owner.uid;
  arrival.index = *index;
  arrival.ranks = container->ranks;
  arrival.pod = pod.name;
  arrival.pod_uid = pod.uid;
  return arrival;
}

}  // namespace canopy::kubernetes
