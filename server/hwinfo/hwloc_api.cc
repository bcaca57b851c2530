#include "server/hwinfo/hwloc_api.h"

#include <dlfcn.h>

#include <optional>

namespace canopy::hwinfo {
namespace {

template <typename F>
bool Find(void* library, const char* name, F* function) {
  *function = reinterpret_cast<F>(dlsym(library, name));
  return *function != nullptr;
}

std::optional<HwlocApi> Load() {
  void* lib = dlopen("libhwloc.so.15", RTLD_NOW | RTLD_LOCAL);
  if (lib == nullptr) return std::nullopt;
  HwlocApi api{};
  const bool all =
      Find(lib, "hwloc_get_api_version", &api.get_api_version) &&
      Find(lib, "hwloc_topology_init", &api.init) &&
      Find(lib, "hwloc_topology_destroy", &api.destroy) &&
      Find(lib, "hwloc_topology_set_synthetic", &api.set_synthetic) &&
      Find(lib, "hwloc_topology_set_xmlbuffer", &api.set_xmlbuffer) &&
      Find(lib, "hwloc_topology_set_io_types_filter",
           &api.set_io_types_filter) &&
      Find(lib, "hwloc_topology_set_components", &api.set_components) &&
      Find(lib, "hwloc_topology_load", &api.load) &&
      Find(lib, "hwloc_get_type_depth", &api.get_type_depth) &&
      Find(lib, "hwloc_get_nbobjs_by_depth", &api.get_nbobjs_by_depth) &&
      Find(lib, "hwloc_get_obj_by_depth", &api.get_obj_by_depth) &&
      Find(lib, "hwloc_topology_get_allowed_cpuset", &api.get_allowed_cpuset) &&
      Find(lib, "hwloc_bitmap_next", &api.bitmap_next) &&
      Find(lib, "hwloc_topology_export_xmlbuffer", &api.export_xmlbuffer) &&
      Find(lib, "hwloc_free_xmlbuffer", &api.free_xmlbuffer);
  // The layout of objects is the same within one major version.
  if (!all || api.get_api_version() >> 16 != HWLOC_API_VERSION >> 16) {
    return std::nullopt;
  }
  return api;
}

}  // namespace

const HwlocApi* HwlocApi::Get() {
  static const std::optional<HwlocApi> api = Load();
  return api ? &*api : nullptr;
}

}  // namespace canopy::hwinfo
