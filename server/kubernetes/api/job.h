// Jobs of Kubernetes (batch/v1), as far as agents need them.
#ifndef CANOPY_SERVER_KUBERNETES_API_JOB_H_
#define CANOPY_SERVER_KUBERNETES_API_JOB_H_

#include <cstdint>
#include <optional>
#include <string>

#include "server/kubernetes/api/json.h"
#include "server/kubernetes/api/metadata.h"

namespace canopy::kubernetes {

struct Job : Metadata {
  // 0: the Job does not have a fixed number of pods.
  uint32_t completions = 0;
  uint32_t parallelism = 1;
  bool indexed = false;
  bool suspended = false;
  bool complete = false;
  bool failed = false;
  std::string failure_reason;
  std::string failure_message;
};

// Returns no value if the object is no Job with a name and a uid.
std::optional<Job> ParseJob(const Json& object);

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_API_JOB_H_
