#include "server/kubernetes/api/endpoint_slice.h"

#include <cstddef>
#include <string_view>
#include <utility>

namespace canopy::kubernetes {
namespace {

constexpr size_t kMaxEndpoints = 1000;
constexpr size_t kMaxPorts = 100;
constexpr size_t kMaxField = 512;  // bytes

std::string FieldAt(const Json& object, std::string_view key) {
  return ShownText(TextAt(object, key), kMaxField);
}

// Consumers use the first address only: the others are the same endpoint.
std::string AddressOf(const Json& endpoint) {
  const auto& addresses = ElementsOf(At(endpoint, "addresses"));
  if (addresses.empty()) return "";
  const auto* first = addresses.front().get_ptr<const std::string*>();
  return first == nullptr ? "" : ShownText(*first, kMaxField);
}

// Version v1beta1 may have the node in the endpoint's topology.
std::string NodeOf(const Json& endpoint) {
  std::string node = FieldAt(endpoint, "nodeName");
  if (!node.empty()) return node;
  return FieldAt(At(endpoint, "topology"), "kubernetes.io/hostname");
}

Endpoint EndpointOf(const Json& from) {
  Endpoint endpoint;
  endpoint.address = AddressOf(from);
  endpoint.node_name = NodeOf(from);
  const Json& conditions = At(from, "conditions");
  endpoint.ready = BoolAt(conditions, "ready", true);
  endpoint.terminating = BoolAt(conditions, "terminating", false);
  const Json& target = At(from, "targetRef");
  if (TextAt(target, "kind") == "Pod") {
    endpoint.pod = FieldAt(target, "name");
    endpoint.pod_uid = FieldAt(target, "uid");
  }
  return endpoint;
}

std::vector<Endpoint> EndpointsOf(const Json& slice) {
  std::vector<Endpoint> endpoints;
  for (const Json& from : ElementsOf(At(slice, "endpoints"))) {
    if (endpoints.size() == kMaxEndpoints) break;
    Endpoint endpoint = EndpointOf(from);
    if (!endpoint.address.empty()) endpoints.push_back(std::move(endpoint));
  }
  return endpoints;
}

std::vector<EndpointPort> PortsOf(const Json& slice) {
  std::vector<EndpointPort> ports;
  for (const Json& from : ElementsOf(At(slice, "ports"))) {
    if (ports.size() == kMaxPorts) break;
    const int64_t port = IntAt(from, "port").value_or(0);
    if (port <= 0 || port > UINT16_MAX) continue;
    ports.push_back({FieldAt(from, "name"), static_cast<uint16_t>(port)});
  }
  return ports;
}

}  // namespace

std::optional<EndpointSlice> ParseEndpointSlice(const Json& object) {
  EndpointSlice slice;
  if (!ParseMetadata(object, &slice)) return std::nullopt;
  slice.service = ValueOf(slice.labels, "kubernetes.io/service-name");
  slice.address_type = FieldAt(object, "addressType");
  slice.ports = PortsOf(object);
  slice.endpoints = EndpointsOf(object);
  return slice;
}

}  // namespace canopy::kubernetes
