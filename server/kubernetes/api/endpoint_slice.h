// The endpoints of a Service (discovery.k8s.io/v1 and v1beta1).
#ifndef CANOPY_SERVER_KUBERNETES_API_ENDPOINT_SLICE_H_
#define CANOPY_SERVER_KUBERNETES_API_ENDPOINT_SLICE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/kubernetes/api/json.h"
#include "server/kubernetes/api/metadata.h"

namespace canopy::kubernetes {

struct Endpoint {
  std::string address;
  std::string node_name;
  bool ready = true;
  bool terminating = false;
  std::string pod;  // the name of the pod, or empty
  std::string pod_uid;
};

struct EndpointPort {
  std::string name;
  uint16_t port = 0;
};

// One of the objects among which the endpoints of a Service are divided. During
// a change, an endpoint may be in two slices.
struct EndpointSlice : Metadata {
  std::string service;
  std::string address_type;  // IPv4, IPv6 or FQDN
  std::vector<EndpointPort> ports;
  std::vector<Endpoint> endpoints;
};

// Returns no value if the object is no slice with a name and a uid. Endpoints
// without an address, and those beyond the API's limit of 1000, are left out.
std::optional<EndpointSlice> ParseEndpointSlice(const Json& object);

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_API_ENDPOINT_SLICE_H_
