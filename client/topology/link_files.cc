#include "client/topology/link_files.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "common/values/value.h"

namespace canopy::client {
namespace {

constexpr double kMega = 1e6;
constexpr double kGiga = 1e9;

// Returns the first line of the file, or an empty text if there is none.
std::string LineOf(const std::string& path) {
  FILE* file = fopen(path.c_str(), "re");
  if (file == nullptr) return {};
  std::array<char, 256> line{};
  std::string text = fgets(line.data(), line.size(), file) == nullptr
                         ? std::string()
                         : std::string(line.data());
  fclose(file);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string LastPartOfLink(const std::string& path) {
  std::array<char, 512> target{};
  const ssize_t size = readlink(path.c_str(), target.data(), target.size());
  if (size <= 0) return {};
  const std::string_view text(target.data(), static_cast<size_t>(size));
  return std::string(text.substr(text.rfind('/') + 1));
}

void AddText(const char* key, const std::string& text, InfoList* device) {
  if (!text.empty()) device->Add(key, Value::String(text));
}

// Adds a number in `unit`. A value that is not a positive number is unknown and
// is left out.
void AddNumber(const char* key, const std::string& text, double unit,
               InfoList* device) {
  const double number = strtod(text.c_str(), nullptr);
  if (!(number > 0) || number > 1e9) return;
  device->Add(key, Value::Size(static_cast<size_t>(number * unit + 0.5)));
}

void AddState(bool known, bool up, InfoList* device) {
  if (!known) return;
  device->Add(
      PMIX_FABRIC_DEVICE_STATE,
      Value::Integer(PMIX_LINK_STATE, up ? PMIX_LINK_UP : PMIX_LINK_DOWN));
}

void AddNetwork(const std::string& root, const std::string& name,
                InfoList* device) {
  const std::string at = root + "/class/net/" + name;
  AddText(PMIX_FABRIC_DEVICE_DRIVER, LastPartOfLink(at + "/device/driver"),
          device);
  AddNumber(PMIX_FABRIC_DEVICE_MTU, LineOf(at + "/mtu"), 1, device);
  AddNumber(PMIX_FABRIC_DEVICE_SPEED, LineOf(at + "/speed"), kMega, device);
  const std::string state = LineOf(at + "/operstate");
  AddState(!state.empty() && state != "unknown", state == "up", device);
}

void AddOpenFabrics(const std::string& root, const std::string& name,
                    InfoList* device) {
  const std::string at = root + "/class/infiniband/" + name;
  const std::string port = at + "/ports/1";
  AddText(PMIX_FABRIC_DEVICE_DRIVER, LastPartOfLink(at + "/device/driver"),
          device);
  AddText(PMIX_FABRIC_DEVICE_FIRMWARE, LineOf(at + "/fw_ver"), device);
  AddText(PMIX_FABRIC_DEVICE_TYPE, LineOf(port + "/link_layer"), device);
  // The files contain "100 Gb/sec (4X EDR)", and "4: ACTIVE".
  AddNumber(PMIX_FABRIC_DEVICE_SPEED, LineOf(port + "/rate"), kGiga, device);
  const std::string state = LineOf(port + "/state");
  AddState(!state.empty(), state.starts_with("4:"), device);
}

}  // namespace

void AddLink(const std::string& root, pmix_device_type_t type,
             const std::string& name, InfoList* device) {
  if (type == PMIX_DEVTYPE_NETWORK) AddNetwork(root, name, device);
  if (type == PMIX_DEVTYPE_OPENFABRICS) AddOpenFabrics(root, name, device);
}

}  // namespace canopy::client
