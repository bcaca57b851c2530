// The functions of libhwloc that are used, loaded at run time: programs that
// make no requests about the hardware never load it.
#ifndef CANOPY_CLIENT_TOPOLOGY_HWLOC_LIBRARY_H_
#define CANOPY_CLIENT_TOPOLOGY_HWLOC_LIBRARY_H_

#include <hwloc.h>

namespace canopy::client {

struct HwlocLibrary {
  decltype(&::hwloc_get_api_version) get_api_version;
  decltype(&::hwloc_topology_init) topology_init;
  decltype(&::hwloc_topology_set_io_types_filter) set_io_types_filter;
  decltype(&::hwloc_topology_load) topology_load;
  decltype(&::hwloc_topology_dup) topology_dup;
  decltype(&::hwloc_topology_destroy) topology_destroy;
  decltype(&::hwloc_topology_is_thissystem) is_thissystem;
  decltype(&::hwloc_topology_get_allowed_cpuset) get_allowed_cpuset;
  decltype(&::hwloc_get_type_depth) get_type_depth;
  decltype(&::hwloc_get_nbobjs_by_depth) get_nbobjs_by_depth;
  decltype(&::hwloc_get_obj_by_depth) get_obj_by_depth;
  decltype(&::hwloc_get_cpubind) get_cpubind;
  decltype(&::hwloc_topology_export_xmlbuffer) export_xmlbuffer;
  decltype(&::hwloc_free_xmlbuffer) free_xmlbuffer;
  decltype(&::hwloc_bitmap_alloc) bitmap_alloc;
  decltype(&::hwloc_bitmap_free) bitmap_free;
  decltype(&::hwloc_bitmap_next) bitmap_next;
  decltype(&::hwloc_bitmap_isset) bitmap_isset;

  // Loads libhwloc.so.15 once and keeps it. Thread-safe. Returns null if it is
  // not installed, or has another major version.
  static const HwlocLibrary* Get();
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_TOPOLOGY_HWLOC_LIBRARY_H_
