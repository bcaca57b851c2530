// The functions of libhwloc that are used, loaded at run time. If the library
// is missing, an agent works but does not know the topology.
#ifndef CANOPY_SERVER_HWINFO_HWLOC_API_H_
#define CANOPY_SERVER_HWINFO_HWLOC_API_H_

#include <hwloc.h>

#include "common/status.h"

namespace canopy::hwinfo {

struct HwlocApi {
  decltype(&::hwloc_get_api_version) get_api_version;
  decltype(&::hwloc_topology_init) init;
  decltype(&::hwloc_topology_destroy) destroy;
  decltype(&::hwloc_topology_set_synthetic) set_synthetic;
  decltype(&::hwloc_topology_set_xmlbuffer) set_xmlbuffer;
  decltype(&::hwloc_topology_set_io_types_filter) set_io_types_filter;
  decltype(&::hwloc_topology_set_components) set_components;
  decltype(&::hwloc_topology_load) load;
  decltype(&::hwloc_get_type_depth) get_type_depth;
  decltype(&::hwloc_get_nbobjs_by_depth) get_nbobjs_by_depth;
  decltype(&::hwloc_get_obj_by_depth) get_obj_by_depth;
  decltype(&::hwloc_topology_get_allowed_cpuset) get_allowed_cpuset;
  decltype(&::hwloc_bitmap_next) bitmap_next;
  decltype(&::hwloc_topology_export_xmlbuffer) export_xmlbuffer;
  decltype(&::hwloc_free_xmlbuffer) free_xmlbuffer;

  // Loads libhwloc.so.15 (release 2) once; thread-safe. Returns null if it is
  // not installed or incompatible. The library is never unloaded.
  static const HwlocApi* Get();
};

}  // namespace canopy::hwinfo

#endif  // CANOPY_SERVER_HWINFO_HWLOC_API_H_
