// A pod that is ready to run its ranks.
#ifndef CANOPY_SERVER_KUBERNETES_GANGS_ARRIVAL_H_
#define CANOPY_SERVER_KUBERNETES_GANGS_ARRIVAL_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace canopy::kubernetes {

// Everything except `argv` comes from the API server and from the kernel, and
// nothing from the pod.
struct Arrival {
  std::string nspace;  // the Kubernetes namespace
  std::string job;     // name of the Job
  std::string job_uid;
  uint32_t index = 0;  // completion index
  uint32_t ranks = 0;  // of the pod, at least 1
  std::string pod;
  std::string pod_uid;
  std::string node;               // name of the member that serves the pod
  std::vector<std::string> argv;  // the command, for people
};

inline constexpr std::string_view kGangPrefix = "kubernetes/";

// Returns the name of a Job as a scheduler's job: equal for all pods of one Job
// and different for a Job that replaces it under the same name.
inline std::string GangName(const std::string& nspace, const std::string& job,
                            const std::string& job_uid) {
  return std::string(kGangPrefix) + nspace + "/" + job + "/" + job_uid;
}

// Returns true if a scheduler's job is one of Kubernetes.
inline bool IsGangName(std::string_view name) {
  return name.starts_with(kGangPrefix);
}

// Receives the outcome of an arrival: success when the job is being launched,
// or the reason why the pod gets no job. Called at most once.
using Joined = std::function<void(const Status& status)>;

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_GANGS_ARRIVAL_H_
