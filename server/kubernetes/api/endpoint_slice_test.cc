#include "server/kubernetes/api/endpoint_slice.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace canopy::kubernetes {
namespace {

EndpointSlice Parsed(const std::string& text) {
  const auto object = ParseJson(text);
  const auto slice = object ? ParseEndpointSlice(*object) : std::nullopt;
  EXPECT_TRUE(slice) << text;
  return slice.value_or(EndpointSlice());
}

TEST(EndpointSliceTest, ReadsASlice) {
  const EndpointSlice slice = Parsed(R"({
      "apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice",
      "metadata":{"name":"canopyd-x","namespace":"canopy-system","uid":"1",
                  "labels":{"kubernetes.io/service-name":"canopyd"}},
      "addressType":"IPv4",
      "ports":[{"name":"overlay","port":7117,"protocol":"TCP"},
               {"name":"all"},{"name":"odd","port":70000}],
      "endpoints":[
        {"addresses":["10.1.0.1","10.1.0.2"],"nodeName":"n1",
         "conditions":{"ready":true},
         "targetRef":{"kind":"Pod","name":"canopyd-a","uid":"9"}},
        {"addresses":["10.1.0.3"],"nodeName":"n2",
         "conditions":{"ready":false,"terminating":true},
         "targetRef":{"kind":"Node","name":"n2"}}]})");
  EXPECT_EQ(slice.service, "canopyd");
  EXPECT_EQ(slice.address_type, "IPv4");
  ASSERT_EQ(slice.ports.size(), 1u);
  EXPECT_EQ(slice.ports[0].name, "overlay");
  EXPECT_EQ(slice.ports[0].port, 7117);
  ASSERT_EQ(slice.endpoints.size(), 2u);
  EXPECT_EQ(slice.endpoints[0].address, "10.1.0.1");
  EXPECT_EQ(slice.endpoints[0].node_name, "n1");
  EXPECT_TRUE(slice.endpoints[0].ready);
  EXPECT_FALSE(slice.endpoints[0].terminating);
  EXPECT_EQ(slice.endpoints[0].pod, "canopyd-a");
  EXPECT_EQ(slice.endpoints[0].pod_uid, "9");
  EXPECT_FALSE(slice.endpoints[1].ready);
  EXPECT_TRUE(slice.endpoints[1].terminating);
  EXPECT_EQ(slice.endpoints[1].pod, "");
}

TEST(EndpointSliceTest, ReadsTheNodesOfTheBetaVersion) {
  const EndpointSlice slice = Parsed(R"({
      "metadata":{"name":"a","uid":"1"},
      "endpoints":[
        {"addresses":["10.1.0.1"],
         "topology":{"kubernetes.io/hostname":"n1"}},
        {"addresses":["10.1.0.2"],"nodeName":"n2",
         "topology":{"kubernetes.io/hostname":"other"}}]})");
  ASSERT_EQ(slice.endpoints.size(), 2u);
  EXPECT_EQ(slice.endpoints[0].node_name, "n1");
  EXPECT_TRUE(slice.endpoints[0].ready);
  EXPECT_EQ(slice.endpoints[1].node_name, "n2");
}

TEST(EndpointSliceTest, LeavesOutEndpointsWithoutAnAddress) {
  const EndpointSlice slice = Parsed(R"({
      "metadata":{"name":"a","uid":"1"},
      "endpoints":[1,{},{"addresses":[]},{"addresses":[5]},
                   {"addresses":"10.1.0.1"},{"addresses":["10.1.0.2"]}]})");
  ASSERT_EQ(slice.endpoints.size(), 1u);
  EXPECT_EQ(slice.endpoints[0].address, "10.1.0.2");
  const EndpointSlice none =
      Parsed(R"({"metadata":{"name":"a","uid":"1"},"endpoints":null})");
  EXPECT_TRUE(none.endpoints.empty());
}

TEST(EndpointSliceTest, BoundsTheNumberOfEndpoints) {
  Json object = {{"metadata", {{"name", "a"}, {"uid", "1"}}}};
  for (int i = 0; i < 2000; ++i) {
    object["endpoints"].push_back({{"addresses", {"10.0.0.1"}}});
  }
  EXPECT_EQ(ParseEndpointSlice(object)->endpoints.size(), 1000u);
}

TEST(EndpointSliceTest, RejectsObjectsWithoutNameOrUid) {
  EXPECT_FALSE(ParseEndpointSlice(Json()));
  EXPECT_FALSE(ParseEndpointSlice({{"metadata", {{"uid", "a"}}}}));
}

}  // namespace
}  // namespace canopy::kubernetes
