#include "server/kubernetes/api/api_server.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "common/string_util.h"

namespace canopy::kubernetes {
namespace {

// Names and IPv4 addresses have letters, digits, points and hyphens; IPv6
// addresses have colons too.
bool IsHost(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z') || c == '.' || c == '-' || c == ':';
  });
}

std::string InBrackets(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

Status CheckReadable(const std::string& file) {
  if (access(file.c_str(), R_OK) == 0) return Status();
  return Status(kErrNotFound,
                "cannot read " + file + ": the pod has no service account");
}

}  // namespace

Result<ApiServer> InClusterServer(
    const std::function<const char*(const char* name)>& variable,
    const std::string& directory) {
  const char* host = variable("KUBERNETES_SERVICE_HOST");
  const char* port = variable("KUBERNETES_SERVICE_PORT");
  if (host == nullptr || port == nullptr) {
    return Status(kErrNotFound,
                  "this process does not run in a pod of Kubernetes: "
                  "KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT is not "
                  "set");
  }
  if (!IsHost(host) || ParseNumber(port, UINT16_MAX).value_or(0) == 0) {
    return Status(kErrBadParam,
                  "KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT is "
                  "malformed");
  }
  ApiServer server{"https://" + InBrackets(host) + ":" + port,
                   directory + "/ca.crt", directory + "/token"};
  for (const std::string& file : {server.ca_file, server.token_file}) {
    if (const Status status = CheckReadable(file); !status.ok()) return status;
  }
  return server;
}

}  // namespace canopy::kubernetes
