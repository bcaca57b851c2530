// The devices that a plugin offers, and what containers get with them.
#ifndef CANOPY_SERVER_KUBERNETES_DEVICE_PLUGIN_DEVICE_SET_H_
#define CANOPY_SERVER_KUBERNETES_DEVICE_PLUGIN_DEVICE_SET_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/status.h"
#include "protos/kubernetes/deviceplugin/v1beta1/api.pb.h"

namespace canopy::kubernetes {

// A directory or file of the node that containers see, always read-only.
struct ContainerMount {
  std::string host_path;
  std::string container_path;
};

struct DeviceSetOptions {
  uint32_t devices = 1024;
  std::vector<ContainerMount> mounts;
  std::vector<std::string> environment;  // NAME=VALUE
};

// A device stands for one rank of a job, and has no other property: the kubelet
// counts and assigns devices, so their number in a container is that of the
// ranks that may run there. The name of a device is not a rank. Immutable, so
// any thread may use it.
class DeviceSet {
 public:
  // The limits keep an answer below the 4 MiB that the kubelet accepts.
  static constexpr uint32_t kMaxDevices = 65536;
  static constexpr int kMaxContainers = 64;  // of one request
  // The maximum number, and size, of mounts and variables of one container.
  static constexpr size_t kMaxEntries = 256;
  static constexpr size_t kMaxContainerBytes = 16 << 10;
  // The variable with the number of devices of the container.
  static constexpr char kRanksVariable[] = "CANOPY_RANKS";

  // kErrBadParam: the options are beyond the limits, or have a path that is not
  // absolute or a variable without a name, of the same name as another, or with
  // the name kRanksVariable.
  static Result<DeviceSet> Make(DeviceSetOptions options);

  // Returns the message that describes all devices.
  v1beta1::ListAndWatchResponse List(bool healthy) const;

  // Fills the answers to the requests of some containers, without any I/O.
  // kErrBadParam: a request names a device that does not exist or that the same
  // message has named before, or none, or there are too many requests.
  Status Allocate(const v1beta1::AllocateRequest& request,
                  v1beta1::AllocateResponse* response) const;

 private:
  explicit DeviceSet(DeviceSetOptions options) : options_(std::move(options)) {}

  std::optional<uint32_t> NumberOf(std::string_view id) const;
  Status Mark(const v1beta1::ContainerAllocateRequest& container,
              std::vector<bool>* used) const;
  void Fill(int ranks, v1beta1::ContainerAllocateResponse* answer) const;

  DeviceSetOptions options_;
};

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_DEVICE_PLUGIN_DEVICE_SET_H_
