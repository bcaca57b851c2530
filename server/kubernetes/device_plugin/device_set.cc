#include "server/kubernetes/device_plugin/device_set.h"

#include <set>
#include <utility>

#include "common/string_util.h"
#include "common/text.h"

namespace canopy::kubernetes {
namespace {

constexpr std::string_view kPrefix = "slot-";

Status Invalid(const std::string& what) { return Status(kErrBadParam, what); }

std::string IdOf(uint32_t number) {
  return std::string(kPrefix) + std::to_string(number);
}

Status CheckMount(const ContainerMount& mount) {
  for (const std::string& path : {mount.host_path, mount.container_path}) {
    if (!path.starts_with('/') || !IsUtf8(path)) {
      return Invalid("mount of containers: '" + Printable(path) +
                     "' is no absolute path");
    }
  }
  return Status();
}

Status CheckVariable(const std::string& variable,
                     std::set<std::string>* names) {
  const size_t end = variable.find('=');
  if (end == 0 || end == variable.npos || !IsUtf8(variable)) {
    return Invalid("variable of containers: '" + Printable(variable) +
                   "' is not NAME=VALUE");
  }
  const std::string name = variable.substr(0, end);
  if (name == DeviceSet::kRanksVariable || !names->insert(name).second) {
    return Invalid("variable of containers: " + name + " is already set");
  }
  return Status();
}

size_t SizeOf(const DeviceSetOptions& options) {
  size_t size = 0;
  for (const ContainerMount& mount : options.mounts) {
    size += mount.host_path.size() + mount.container_path.size();
  }
  for (const std::string& variable : options.environment) {
    size += variable.size();
  }
  return size;
}

Status CheckLimits(const DeviceSetOptions& options) {
  if (options.devices == 0 || options.devices > DeviceSet::kMaxDevices) {
    return Invalid("the number of devices must be from 1 to " +
                   std::to_string(DeviceSet::kMaxDevices));
  }
  if (options.mounts.size() + options.environment.size() >
      DeviceSet::kMaxEntries) {
    return Invalid("containers have more than " +
                   std::to_string(DeviceSet::kMaxEntries) +
                   " mounts and variables");
  }
  if (SizeOf(options) > DeviceSet::kMaxContainerBytes) {
    return Invalid("mounts and variables of containers are longer than " +
                   std::to_string(DeviceSet::kMaxContainerBytes) + " bytes");
  }
  return Status();
}

}  // namespace

Result<DeviceSet> DeviceSet::Make(DeviceSetOptions options) {
  Status status = CheckLimits(options);
  for (const ContainerMount& mount : options.mounts) {
    if (status.ok()) status = CheckMount(mount);
  }
  std::set<std::string> names;
  for (const std::string& variable : options.environment) {
    if (status.ok()) status = CheckVariable(variable, &names);
  }
  if (!status.ok()) return status;
  return DeviceSet(std::move(options));
}

v1beta1::ListAndWatchResponse DeviceSet::List(bool healthy) const {
  v1beta1::ListAndWatchResponse list;
  for (uint32_t i = 0; i < options_.devices; ++i) {
    v1beta1::Device* const device = list.add_devices();
    device->set_id(IdOf(i));
    device->set_health(healthy ? "Healthy" : "Unhealthy");
  }
  return list;
}

std::optional<uint32_t> DeviceSet::NumberOf(std::string_view id) const {
  if (!id.starts_with(kPrefix)) return std::nullopt;
  const auto number =
      ParseNumber(id.substr(kPrefix.size()), options_.devices - 1);
  // A number with leading zeros names no device.
  if (!number || IdOf(*number) != id) return std::nullopt;
  return number;
}

Status DeviceSet::Mark(const v1beta1::ContainerAllocateRequest& container,
                       std::vector<bool>* used) const {
  if (container.devices_ids().empty()) {
    return Invalid("a container has no device");
  }
  for (const std::string& id : container.devices_ids()) {
    const std::optional<uint32_t> number = NumberOf(id);
    if (!number) {
      return Invalid("unknown device '" + Printable(id.substr(0, 63)) + "'");
    }
    if ((*used)[*number]) return Invalid("device '" + id + "' is named twice");
    (*used)[*number] = true;
  }
  return Status();
}

void DeviceSet::Fill(int ranks,
                     v1beta1::ContainerAllocateResponse* answer) const {
  auto& envs = *answer->mutable_envs();
  for (const std::string& variable : options_.environment) {
    const size_t end = variable.find('=');
    envs[variable.substr(0, end)] = variable.substr(end + 1);
  }
  envs[kRanksVariable] = std::to_string(ranks);
  for (const ContainerMount& mount : options_.mounts) {
    v1beta1::Mount* const added = answer->add_mounts();
    added->set_host_path(mount.host_path);
    added->set_container_path(mount.container_path);
    added->set_read_only(true);
  }
}

Status DeviceSet::Allocate(const v1beta1::AllocateRequest& request,
                           v1beta1::AllocateResponse* response) const {
  if (request.container_requests_size() > kMaxContainers) {
    return Invalid("more than " + std::to_string(kMaxContainers) +
                   " containers in one request");
  }
  std::vector<bool> used(options_.devices);
  for (const auto& container : request.container_requests()) {
    Status status = Mark(container, &used);
    if (!status.ok()) return status;
  }
  for (const auto& container : request.container_requests()) {
    Fill(container.devices_ids_size(), response->add_container_responses());
  }
  return Status();
}

}  // namespace canopy::kubernetes
