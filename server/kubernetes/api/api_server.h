// The address of the Kubernetes API server and the credentials of a pod there.
#ifndef CANOPY_SERVER_KUBERNETES_API_API_SERVER_H_
#define CANOPY_SERVER_KUBERNETES_API_API_SERVER_H_

#include <functional>
#include <string>

#include "common/status.h"

namespace canopy::kubernetes {

struct ApiServer {
  std::string url;      // "https://HOST:PORT", without a path
  std::string ca_file;  // the certificates, in PEM, that sign the server's
  // The file with the bearer token, which the kubelet replaces before the token
  // expires. Empty: none. The token is sent over TLS only.
  std::string token_file;
};

// The directory into which Kubernetes mounts the credentials of a pod.
inline constexpr char kServiceAccountDirectory[] =
    "/var/run/secrets/kubernetes.io/serviceaccount";

// Returns the API server of the cluster in which this process runs as a pod.
// `variable` returns a variable of the environment, or null, as getenv does.
// kErrNotFound: the process does not run in a pod, or the pod has no service
// account. kErrBadParam: the variables are malformed.
Result<ApiServer> InClusterServer(
    const std::function<const char*(const char* name)>& variable,
    const std::string& directory = kServiceAccountDirectory);

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_API_API_SERVER_H_
