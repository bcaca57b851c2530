#include "server/kubernetes/device_plugin/device_set.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace canopy::kubernetes {
namespace {

DeviceSet Made(DeviceSetOptions options) {
  Result<DeviceSet> made = DeviceSet::Make(std::move(options));
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *std::move(made);
}

v1beta1::AllocateRequest Request(
    const std::vector<std::vector<std::string>>& containers) {
  v1beta1::AllocateRequest request;
  for (const auto& ids : containers) {
    auto* const container = request.add_container_requests();
    for (const std::string& id : ids) container->add_devices_ids(id);
  }
  return request;
}

int CodeOf(const DeviceSet& devices, const v1beta1::AllocateRequest& request) {
  v1beta1::AllocateResponse response;
  const Status status = devices.Allocate(request, &response);
  EXPECT_EQ(response.container_responses().empty(), !status.ok());
  EXPECT_EQ(status.message().empty(), status.ok());
  return status.code();
}

TEST(DeviceSetTest, ListHasDistinctShortNamesAndTheSameHealth) {
  const DeviceSet devices = Made({1024, {}, {}});
  for (const bool healthy : {true, false}) {
    std::set<std::string> ids;
    const v1beta1::ListAndWatchResponse list = devices.List(healthy);
    for (const auto& device : list.devices()) {
      ids.insert(device.id());
      EXPECT_LE(device.id().size(), 63u);
      EXPECT_EQ(device.health(), healthy ? "Healthy" : "Unhealthy");
    }
    EXPECT_EQ(ids.size(), 1024u);
  }
}

TEST(DeviceSetTest, LargestListFitsInAMessageOfTheKubelet) {
  const DeviceSet devices = Made({DeviceSet::kMaxDevices, {}, {}});
  EXPECT_LT(devices.List(false).ByteSizeLong(), size_t{4} << 20);
}

TEST(DeviceSetTest, EachContainerGetsMountsVariablesAndItsNumberOfRanks) {
  const DeviceSet devices =
      Made({8, {{"/run/canopy", "/run/c"}}, {"A=1", "B=x=y", "C="}});
  v1beta1::AllocateResponse response;
  ASSERT_TRUE(
      devices.Allocate(Request({{"slot-0", "slot-7"}, {"slot-3"}}), &response)
          .ok());
  ASSERT_EQ(response.container_responses_size(), 2);
  for (const int i : {0, 1}) {
    const auto& answer = response.container_responses(i);
    const std::map<std::string, std::string> envs(answer.envs().begin(),
                                                  answer.envs().end());
    EXPECT_EQ(envs, (std::map<std::string, std::string>{
                        {"A", "1"},
                        {"B", "x=y"},
                        {"C", ""},
                        {"CANOPY_RANKS", i == 0 ? "2" : "1"}}));
    ASSERT_EQ(answer.mounts_size(), 1);
    EXPECT_EQ(answer.mounts(0).host_path(), "/run/canopy");
    EXPECT_EQ(answer.mounts(0).container_path(), "/run/c");
    EXPECT_TRUE(answer.mounts(0).read_only());
  }
}

TEST(DeviceSetTest, EveryListedDeviceCanBeAllocated) {
  const DeviceSet devices = Made({100, {}, {}});
  v1beta1::AllocateRequest request;
  auto* const container = request.add_container_requests();
  const v1beta1::ListAndWatchResponse list = devices.List(true);
  for (const auto& device : list.devices()) {
    container->add_devices_ids(device.id());
  }
  v1beta1::AllocateResponse response;
  ASSERT_TRUE(devices.Allocate(request, &response).ok());
  EXPECT_EQ(response.container_responses(0).envs().at("CANOPY_RANKS"), "100");
}

TEST(DeviceSetTest, UnknownDevicesAreRefused) {
  const DeviceSet devices = Made({8, {}, {}});
  for (const std::string id :
       {"", "slot-", "slot-8", "slot-01", "slot-+1", "slot--1", "slot-1 ",
        "slot-4294967296", "SLOT-1", "1", "gpu-1"}) {
    EXPECT_EQ(CodeOf(devices, Request({{"slot-0"}, {id}})), kErrBadParam) << id;
  }
  EXPECT_EQ(CodeOf(devices, Request({{std::string(1 << 20, 'x')}})),
            kErrBadParam);
}

TEST(DeviceSetTest, DeviceIsAllocatedOnlyOnceByARequest) {
  const DeviceSet devices = Made({8, {}, {}});
  EXPECT_EQ(CodeOf(devices, Request({{"slot-1", "slot-1"}})), kErrBadParam);
  EXPECT_EQ(CodeOf(devices, Request({{"slot-1"}, {"slot-1"}})), kErrBadParam);
}

TEST(DeviceSetTest, ContainerWithoutADeviceIsRefused) {
  EXPECT_EQ(CodeOf(Made({8, {}, {}}), Request({{"slot-1"}, {}})), kErrBadParam);
}

TEST(DeviceSetTest, NumberOfContainersIsLimitedAndTheirAnswersFitInAMessage) {
  const std::string value(DeviceSet::kMaxContainerBytes - 2, 'x');
  const DeviceSet devices = Made({1024, {}, {"A=" + value}});
  std::vector<std::vector<std::string>> containers;
  for (int i = 0; i < DeviceSet::kMaxContainers; ++i) {
    containers.push_back({"slot-" + std::to_string(i)});
  }
  v1beta1::AllocateResponse response;
  ASSERT_TRUE(devices.Allocate(Request(containers), &response).ok());
  EXPECT_LT(response.ByteSizeLong(), size_t{4} << 20);
  containers.push_back({"slot-1000"});
  EXPECT_EQ(CodeOf(devices, Request(containers)), kErrBadParam);
}

TEST(DeviceSetTest, InvalidOptionsAreRefused) {
  const std::vector<DeviceSetOptions> invalid = {
      {0, {}, {}},
      {DeviceSet::kMaxDevices + 1, {}, {}},
      {8, {{"relative", "/c"}}, {}},
      {8, {{"/h", ""}}, {}},
      {8, {{"/h\xff", "/c"}}, {}},
      {8, {}, {"A"}},
      {8, {}, {"=1"}},
      {8, {}, {""}},
      {8, {}, {"A=\xff"}},
      {8, {}, {"A=1", "A=2"}},
      {8, {}, {"CANOPY_RANKS=2"}},
      {8, std::vector<ContainerMount>(257, {"/h", "/c"}), {}},
      {8, {}, {"A=" + std::string(DeviceSet::kMaxContainerBytes, 'x')}}};
  for (const DeviceSetOptions& options : invalid) {
    const Result<DeviceSet> made = DeviceSet::Make(options);
    EXPECT_EQ(made.code(), kErrBadParam);
    EXPECT_FALSE(made.status().message().empty());
  }
}

}  // namespace
}  // namespace canopy::kubernetes
