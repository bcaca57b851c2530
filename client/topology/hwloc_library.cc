#include "client/topology/hwloc_library.h"

#include <dlfcn.h>

#include <optional>

namespace canopy::client {
namespace {

template <typename Function>
bool Bind(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

bool BindAll(void* lib, HwlocLibrary* h) {
  return Bind(lib, "hwloc_get_api_version", &h->get_api_version) &&
         Bind(lib, "hwloc_topology_init", &h->topology_init) &&
         Bind(lib, "hwloc_topology_set_io_types_filter",
              &h->set_io_types_filter) &&
         Bind(lib, "hwloc_topology_load", &h->topology_load) &&
         Bind(lib, "hwloc_topology_dup", &h->topology_dup) &&
         Bind(lib, "hwloc_topology_destroy", &h->topology_destroy) &&
         Bind(lib, "hwloc_topology_is_thissystem", &h->is_thissystem) &&
         Bind(lib, "hwloc_topology_get_allowed_cpuset",
              &h->get_allowed_cpuset) &&
         Bind(lib, "hwloc_get_type_depth", &h->get_type_depth) &&
         Bind(lib, "hwloc_get_nbobjs_by_depth", &h->get_nbobjs_by_depth) &&
         Bind(lib, "hwloc_get_obj_by_depth", &h->get_obj_by_depth) &&
         Bind(lib, "hwloc_get_cpubind", &h->get_cpubind) &&
         Bind(lib, "hwloc_topology_export_xmlbuffer", &h->export_xmlbuffer) &&
         Bind(lib, "hwloc_free_xmlbuffer", &h->free_xmlbuffer) &&
         Bind(lib, "hwloc_bitmap_alloc", &h->bitmap_alloc) &&
         Bind(lib, "hwloc_bitmap_free", &h->bitmap_free) &&
         Bind(lib, "hwloc_bitmap_next", &h->bitmap_next) &&
         Bind(lib, "hwloc_bitmap_isset", &h->bitmap_isset);
}

std::optional<HwlocLibrary> Load() {
  void* library = dlopen("libhwloc.so.15", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::nullopt;
  HwlocLibrary functions{};
  // hwloc keeps the layout of its objects within a major version.
  if (!BindAll(library, &functions) ||
      functions.get_api_version() >> 16 != HWLOC_API_VERSION >> 16) {
    return std::nullopt;
  }
  return functions;
}

}  // namespace

const HwlocLibrary* HwlocLibrary::Get() {
  static const std::optional<HwlocLibrary> library = Load();
  return library ? &*library : nullptr;
}

}  // namespace canopy::client
