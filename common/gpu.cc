#include "common/gpu.h"

#include "common/string_util.h"

namespace canopy {
namespace {

struct Joined {
  std::string_view kind;
  std::string_view ids;
};

Joined SplitJoined(std::string_view joined) {
  const size_t colon = joined.find(':');
  if (colon == joined.npos) return {};
  return {joined.substr(0, colon), joined.substr(colon + 1)};
}

}  // namespace

std::string_view ToString(GpuKind kind) {
  return kind == GpuKind::kNvidia ? "nvidia" : "amd";
}

std::string_view VisibleVariable(GpuKind kind) {
  return kind == GpuKind::kNvidia ? "CUDA_VISIBLE_DEVICES"
                                  : "ROCR_VISIBLE_DEVICES";
}

std::string GpuName(const Gpu& gpu) {
  return std::string(ToString(gpu.kind)) + ":" + gpu.id;
}

std::string JoinGpus(const std::vector<Gpu>& gpus) {
  std::string out;
  for (const Gpu& gpu : gpus) {
    out += out.empty() ? GpuName(gpu) : "," + gpu.id;
  }
  return out;
}

std::vector<std::string> GpuNames(std::string_view joined) {
  const auto [kind, ids] = SplitJoined(joined);
  std::vector<std::string> names;
  for (const std::string& id : Split(ids, ',')) {
    if (!id.empty()) names.push_back(std::string(kind) + ":" + id);
  }
  return names;
}

std::vector<std::string> GpuVariables(std::string_view joined) {
  const auto [name, ids] = SplitJoined(joined);
  for (const GpuKind kind : kGpuKinds) {
    if (ToString(kind) != name || ids.empty()) continue;
    std::vector<std::string> out = {std::string(VisibleVariable(kind)) + "=" +
                                    std::string(ids)};
    // By default CUDA numbers devices by speed, and not by their bus address.
    if (kind == GpuKind::kNvidia) {
      out.push_back("CUDA_DEVICE_ORDER=PCI_BUS_ID");
    }
    return out;
  }
  return {};
}

}  // namespace canopy
