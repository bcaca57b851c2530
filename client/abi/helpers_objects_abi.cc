// Construct, destruct, create and free for all structures of the C interface
// that need no special treatment.
#include <cstdlib>

#include "common/values/element_ops.h"
#include "pmix.h"

namespace {

using canopy::FindType;

template <typename T>
T* Create(pmix_data_type_t type, size_t count) {
  if (count == 0) return nullptr;
  return static_cast<T*>(canopy::NewElements(*FindType(type), count));
}

void Construct(pmix_data_type_t type, void* object) {
  if (object != nullptr) canopy::ConstructElement(*FindType(type), object);
}

void Destruct(pmix_data_type_t type, void* object) {
  if (object != nullptr) canopy::DestructElement(*FindType(type), object);
}

void Free(pmix_data_type_t type, void* objects, size_t count) {
  canopy::FreeElements(*FindType(type), objects, count);
}

}  // namespace

// The four functions of one structure, with the Standard's prototypes.
// NOLINTBEGIN(bugprone-macro-parentheses): types and names
#define CANOPY_OBJECT_FUNCTIONS(Name, struct_t, type)               \
  void PMIx_##Name##_construct(struct_t* p) { Construct(type, p); } \
  void PMIx_##Name##_destruct(struct_t* p) { Destruct(type, p); }   \
  struct_t* PMIx_##Name##_create(size_t n) {                        \
    return Create<struct_t>(type, n);                               \
  }                                                                 \
  void PMIx_##Name##_free(struct_t* p, size_t n) { Free(type, p, n); }
// NOLINTEND(bugprone-macro-parentheses)

extern "C" {

CANOPY_OBJECT_FUNCTIONS(App, pmix_app_t, PMIX_APP)
CANOPY_OBJECT_FUNCTIONS(Byte_object, pmix_byte_object_t, PMIX_BYTE_OBJECT)
CANOPY_OBJECT_FUNCTIONS(Cpuset, pmix_cpuset_t, PMIX_PROC_CPUSET)
CANOPY_OBJECT_FUNCTIONS(Device, pmix_device_t, PMIX_DEVICE)
CANOPY_OBJECT_FUNCTIONS(Device_distance, pmix_device_distance_t,
                        PMIX_DEVICE_DIST)
CANOPY_OBJECT_FUNCTIONS(Endpoint, pmix_endpoint_t, PMIX_ENDPOINT)
CANOPY_OBJECT_FUNCTIONS(Envar, pmix_envar_t, PMIX_ENVAR)
CANOPY_OBJECT_FUNCTIONS(Geometry, pmix_geometry_t, PMIX_GEOMETRY)
CANOPY_OBJECT_FUNCTIONS(Node_pid, pmix_node_pid_t, PMIX_NODE_PID)
CANOPY_OBJECT_FUNCTIONS(Nodepid, pmix_node_pid_t, PMIX_NODE_PID)
CANOPY_OBJECT_FUNCTIONS(Pdata, pmix_pdata_t, PMIX_PDATA)
CANOPY_OBJECT_FUNCTIONS(Proc, pmix_proc_t, PMIX_PROC)
CANOPY_OBJECT_FUNCTIONS(Proc_info, pmix_proc_info_t, PMIX_PROC_INFO)
CANOPY_OBJECT_FUNCTIONS(Query, pmix_query_t, PMIX_QUERY)
CANOPY_OBJECT_FUNCTIONS(Regattr, pmix_regattr_t, PMIX_REGATTR)
CANOPY_OBJECT_FUNCTIONS(Regex2, pmix_regex2_t, PMIX_REGEX2)
CANOPY_OBJECT_FUNCTIONS(Resource_unit, pmix_resource_unit_t, PMIX_RESOURCE_UNIT)
CANOPY_OBJECT_FUNCTIONS(Topology, pmix_topology_t, PMIX_TOPO)
CANOPY_OBJECT_FUNCTIONS(Value, pmix_value_t, PMIX_VALUE)

void PMIx_App_release(pmix_app_t* p) { Free(PMIX_APP, p, 1); }
void PMIx_Pdata_release(pmix_pdata_t* p) { Free(PMIX_PDATA, p, 1); }
void PMIx_Query_release(pmix_query_t* p) { Free(PMIX_QUERY, p, 1); }

void PMIx_Coord_construct(pmix_coord_t* m) { Construct(PMIX_COORD, m); }
void PMIx_Coord_destruct(pmix_coord_t* m) { Destruct(PMIX_COORD, m); }
void PMIx_Coord_free(pmix_coord_t* m, size_t number) {
  Free(PMIX_COORD, m, number);
}

pmix_coord_t* PMIx_Coord_create(size_t dims, size_t number) {
  auto* coords = Create<pmix_coord_t>(PMIX_COORD, number);
  if (coords == nullptr || dims == 0) return coords;
  for (size_t i = 0; i < number; ++i) {
    coords[i].coord = static_cast<uint32_t*>(calloc(dims, sizeof(uint32_t)));
    if (coords[i].coord == nullptr) {
      Free(PMIX_COORD, coords, number);
      return nullptr;
    }
    coords[i].dims = dims;
  }
  return coords;
}

void PMIx_Fabric_construct(pmix_fabric_t* p) {
  if (p != nullptr) *p = {};
}

}  // extern "C"
