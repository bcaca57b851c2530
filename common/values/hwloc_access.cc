#include "common/values/hwloc_access.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "common/status.h"
#include "common/values/kept_topologies.h"
#include "common/values/memory.h"

namespace canopy {
namespace {

struct Hwloc {
  void* (*bitmap_alloc)() = nullptr;
  void* (*bitmap_dup)(const void*) = nullptr;
  void (*bitmap_free)(void*) = nullptr;
  int (*bitmap_list_asprintf)(char**, const void*) = nullptr;
  int (*bitmap_list_sscanf)(void*, const char*) = nullptr;
  int (*topology_dup)(void**, void*) = nullptr;
  void (*topology_destroy)(void*) = nullptr;
  int (*topology_get_depth)(void*) = nullptr;
  int (*get_depth_type)(void*, int) = nullptr;
  unsigned (*get_nbobjs_by_depth)(void*, int) = nullptr;
  const char* (*obj_type_string)(int) = nullptr;
};

template <typename Function>
bool Bind(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

const Hwloc* Open() {
  static Hwloc hwloc;
  void* library = dlopen("libhwloc.so.15", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  const bool complete =
      Bind(library, "hwloc_bitmap_alloc", &hwloc.bitmap_alloc) &&
      Bind(library, "hwloc_bitmap_dup", &hwloc.bitmap_dup) &&
      Bind(library, "hwloc_bitmap_free", &hwloc.bitmap_free) &&
      Bind(library, "hwloc_bitmap_list_asprintf",
           &hwloc.bitmap_list_asprintf) &&
      Bind(library, "hwloc_bitmap_list_sscanf", &hwloc.bitmap_list_sscanf) &&
      Bind(library, "hwloc_topology_dup", &hwloc.topology_dup) &&
      Bind(library, "hwloc_topology_destroy", &hwloc.topology_destroy) &&
      Bind(library, "hwloc_topology_get_depth", &hwloc.topology_get_depth) &&
      Bind(library, "hwloc_get_depth_type", &hwloc.get_depth_type) &&
      Bind(library, "hwloc_get_nbobjs_by_depth", &hwloc.get_nbobjs_by_depth) &&
      Bind(library, "hwloc_obj_type_string", &hwloc.obj_type_string);
  return complete ? &hwloc : nullptr;
}

const Hwloc* TheHwloc() {
  static const Hwloc* const hwloc = Open();
  return hwloc;
}

// Returns true if the object belongs to hwloc: its source begins with "hwloc",
// or it has no source because this library made it.
bool IsHwlocSource(const char* source) {
  return source == nullptr || strncasecmp(source, "hwloc", 5) == 0;
}

int CopySource(char** to, const char* from) {
  if (from == nullptr) return kSuccess;
  *to = DuplicateString(from);
  return *to == nullptr ? kErrNomem : kSuccess;
}

}  // namespace

int CopyCpuset(pmix_cpuset_t* to, const pmix_cpuset_t& from) {
  *to = {};
  if (from.bitmap == nullptr) return CopySource(&to->source, from.source);
  const Hwloc* hwloc = TheHwloc();
  if (hwloc == nullptr || !IsHwlocSource(from.source)) return kErrNotSupported;
  to->bitmap =
      static_cast<decltype(to->bitmap)>(hwloc->bitmap_dup(from.bitmap));
  const int code = to->bitmap == nullptr ? static_cast<int>(kErrNomem)
                                         : CopySource(&to->source, from.source);
  if (code != kSuccess) DestructCpuset(to);
  return code;
}

int CopyTopology(pmix_topology_t* to, const pmix_topology_t& from) {
  *to = {};
  if (from.topology == nullptr) return CopySource(&to->source, from.source);
  const Hwloc* hwloc = TheHwloc();
  if (hwloc == nullptr || !IsHwlocSource(from.source)) return kErrNotSupported;
  void* copy = nullptr;
  if (hwloc->topology_dup(&copy, from.topology) != 0) return kErrNomem;
  to->topology = static_cast<decltype(to->topology)>(copy);
  const int code = CopySource(&to->source, from.source);
  if (code != kSuccess) DestructTopology(to);
  return code;
}

void DestructCpuset(pmix_cpuset_t* cpuset) {
  if (cpuset->bitmap != nullptr && IsHwlocSource(cpuset->source)) {
    if (const Hwloc* hwloc = TheHwloc()) hwloc->bitmap_free(cpuset->bitmap);
  }
  free(cpuset->source);
  *cpuset = {};
}

void DestructTopology(pmix_topology_t* topology) {
  if (topology->topology != nullptr && IsHwlocSource(topology->source)) {
    ForgetTopology(*topology);
    if (const Hwloc* hwloc = TheHwloc()) {
      hwloc->topology_destroy(topology->topology);
    }
  }
  free(topology->source);
  *topology = {};
}

std::optional<std::string> CpusetText(const pmix_cpuset_t& cpuset) {
  const Hwloc* hwloc = TheHwloc();
  if (cpuset.bitmap == nullptr || hwloc == nullptr ||
      !IsHwlocSource(cpuset.source)) {
    return std::nullopt;
  }
  char* text = nullptr;
  if (hwloc->bitmap_list_asprintf(&text, cpuset.bitmap) < 0) {
    return std::nullopt;
  }
  std::string result(text);
  free(text);
  return result;
}

std::optional<std::string> TopologyText(const pmix_topology_t& topology) {
  const Hwloc* hwloc = TheHwloc();
  void* const machine = topology.topology;
  if (machine == nullptr || hwloc == nullptr ||
      !IsHwlocSource(topology.source)) {
    return std::nullopt;
  }
  std::string text;
  const int depths = hwloc->topology_get_depth(machine);
  for (int depth = 0; depth < depths; ++depth) {
    if (depth > 0) text += ", ";
    text += hwloc->obj_type_string(hwloc->get_depth_type(machine, depth));
    text += ' ';
    text += std::to_string(hwloc->get_nbobjs_by_depth(machine, depth));
  }
  return text;
}

int ParseCpuset(pmix_cpuset_t* cpuset, const char* text) {
  *cpuset = {};
  if (text == nullptr) return kSuccess;
  const Hwloc* hwloc = TheHwloc();
  if (hwloc == nullptr) return kErrNotSupported;
  cpuset->source = DuplicateString("hwloc");
  cpuset->bitmap = static_cast<decltype(cpuset->bitmap)>(hwloc->bitmap_alloc());
  int code = kSuccess;
  if (cpuset->source == nullptr || cpuset->bitmap == nullptr) {
    code = kErrNomem;
  } else if (hwloc->bitmap_list_sscanf(cpuset->bitmap, text) != 0) {
    code = kErrBadParam;
  }
  if (code != kSuccess) DestructCpuset(cpuset);
  return code;
}

}  // namespace canopy
