// Pods, as far as agents need them.
#ifndef CANOPY_SERVER_KUBERNETES_API_POD_H_
#define CANOPY_SERVER_KUBERNETES_API_POD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/kubernetes/api/json.h"
#include "server/kubernetes/api/metadata.h"

namespace canopy::kubernetes {

// A state with its explanation. Messages may come from a tenant's program; they
// are printable and bounded.
struct Explanation {
  std::string reason;
  std::string message;

  bool empty() const { return reason.empty() && message.empty(); }
};

struct Termination {
  int exit_code = 0;
  int signal = 0;  // 0: the container was not ended by a signal
  std::string reason;
  std::string message;
};

struct Container {
  std::string name;
  std::string image;
  // The number of the resource that the container may use. 0: the container
  // has none, or the quantity is no whole number.
  uint32_t ranks = 0;
  // Without the name of the runtime ("containerd://"). Empty: not created yet.
  std::string container_id;
  bool running = false;
  Explanation waiting;
  std::optional<Termination> terminated;
};

struct Pod : Metadata {
  std::string node;   // empty: not assigned to a node yet
  std::string phase;  // Pending, Running, Succeeded, Failed or Unknown
  std::string host_ip;
  std::string pod_ip;
  Explanation state;       // of the pod as a whole, such as Evicted
  Explanation disruption;  // why the pod is about to be terminated
  Explanation scheduling;  // why the pod is not assigned to a node
  std::vector<Container> containers;
  std::vector<Container> init_containers;
};

// Returns no value if the object is no pod with a name and a uid. `resource` is
// the name of the resource that `Container::ranks` counts, such as
// "canopy.dev/rank".
std::optional<Pod> ParsePod(const Json& object, std::string_view resource);

// Returns the index of the pod in its Indexed Job, or no value if it has none.
std::optional<uint32_t> CompletionIndex(const Pod& pod);

// Returns why the pod does not run (yet), in one phrase, such as "Pending
// (Unschedulable: 0/2 nodes are available: 2 Insufficient memory)". Returns
// "Running" if nothing keeps the pod from running.
std::string MissingText(const Pod& pod);

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_API_POD_H_
