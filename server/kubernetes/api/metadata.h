// The metadata that all objects of the API server have.
#ifndef CANOPY_SERVER_KUBERNETES_API_METADATA_H_
#define CANOPY_SERVER_KUBERNETES_API_METADATA_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "server/kubernetes/api/json.h"

namespace canopy::kubernetes {

// Annotations of Canopy begin with this text.
inline constexpr std::string_view kAnnotationPrefix = "canopy.dev/";
// The label and the annotation with the index of a pod in its Indexed Job.
inline constexpr std::string_view kCompletionIndex =
    "batch.kubernetes.io/job-completion-index";

// The object that controls another one, such as the Job of a pod. Empty if no
// object does.
struct Owner {
  std::string kind;
  std::string name;
  std::string uid;
  std::string api_version;
};

struct Metadata {
  std::string name;
  std::string nspace;  // the namespace of Kubernetes
  std::string uid;
  std::string resource_version;
  bool deleting = false;  // the deletion was requested
  std::map<std::string, std::string, std::less<>> labels;
  // Those of Canopy, and the completion index.
  std::map<std::string, std::string, std::less<>> annotations;
  Owner owner;
};

// Returns false if the object has no name or no uid. Labels and annotations
// beyond a limit on their number and length are left out.
bool ParseMetadata(const Json& object, Metadata* metadata);

// Returns the label or annotation `name`, or an empty text.
std::string_view ValueOf(
    const std::map<std::string, std::string, std::less<>>& values,
    std::string_view name);

// A condition of an object's status.
struct Condition {
  bool is_true = false;
  std::string reason;
  std::string message;
};

// Returns the condition of this type, or no value if `object` lacks it.
std::optional<Condition> ConditionOf(const Json& object, std::string_view type);

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_API_METADATA_H_
