#ifndef CANOPY_TESTS_ABI_MACRO_OBJECTS_H_
#define CANOPY_TESTS_ABI_MACRO_OBJECTS_H_

/* Checks of the macros that make and destroy objects of every type. */

#include <string.h>

#include "tests/abi/macro_expect.h"

static void check_initialisers(void) {
  pmix_proc_t proc = PMIX_PROC_STATIC_INIT;
  pmix_proc_info_t proc_info = PMIX_PROC_INFO_STATIC_INIT;
  pmix_pdata_t pdata = PMIX_LOOKUP_STATIC_INIT;
  pmix_proc_stats_t stats = PMIX_PROC_STATS_STATIC_INIT;
  pmix_value_t value = PMIX_VALUE_STATIC_INIT;
  pmix_info_t info = PMIX_INFO_STATIC_INIT;
  EXPECT('\0' == proc.nspace[0] && PMIX_RANK_UNDEF == proc.rank);
  EXPECT(PMIX_RANK_UNDEF == proc_info.proc.rank && NULL == proc_info.hostname);
  EXPECT(PMIX_PROC_STATE_UNDEF == proc_info.state);
  EXPECT(PMIX_RANK_UNDEF == pdata.proc.rank && '\0' == pdata.key[0]);
  EXPECT(PMIX_UNDEF == pdata.value.type);
  EXPECT(NULL == stats.node && PMIX_RANK_UNDEF == stats.proc.rank);
  EXPECT(PMIX_UNDEF == value.type);
  EXPECT('\0' == info.key[0] && 0 == info.flags);
  CHECK_INIT(pmix_coord_t, COORD);
  CHECK_INIT(pmix_cpuset_t, CPUSET);
  CHECK_INIT(pmix_topology_t, TOPOLOGY);
  CHECK_INIT(pmix_geometry_t, GEOMETRY);
  CHECK_INIT(pmix_device_distance_t, DEVICE_DIST);
  CHECK_INIT(pmix_byte_object_t, BYTE_OBJECT);
  CHECK_INIT(pmix_endpoint_t, ENDPOINT);
  CHECK_INIT(pmix_envar_t, ENVAR);
  CHECK_INIT(pmix_data_buffer_t, DATA_BUFFER);
  CHECK_INIT(pmix_data_array_t, DATA_ARRAY);
  CHECK_INIT(pmix_app_t, APP);
  CHECK_INIT(pmix_query_t, QUERY);
  CHECK_INIT(pmix_regattr_t, REGATTR);
  CHECK_INIT(pmix_fabric_t, FABRIC);
  CHECK_INIT(pmix_device_t, DEVICE);
  CHECK_INIT(pmix_resource_unit_t, RESOURCE_UNIT);
  CHECK_INIT(pmix_node_pid_t, NODE_PID);
  CHECK_INIT(pmix_regex2_t, REGEX2);
  CHECK_INIT(pmix_disk_stats_t, DISK_STATS);
  CHECK_INIT(pmix_net_stats_t, NET_STATS);
  CHECK_INIT(pmix_node_stats_t, NODE_STATS);
}

static void check_families(void) {
  CHECK_FAMILY(pmix_value_t, VALUE);
  CHECK_RELEASE(pmix_value_t, VALUE);
  CHECK_FAMILY(pmix_proc_t, PROC);
  CHECK_RELEASE(pmix_proc_t, PROC);
  CHECK_FAMILY(pmix_proc_info_t, PROC_INFO);
  CHECK_FAMILY(pmix_pdata_t, PDATA);
  CHECK_RELEASE(pmix_pdata_t, PDATA);
  CHECK_FAMILY(pmix_app_t, APP);
  CHECK_RELEASE(pmix_app_t, APP);
  CHECK_FAMILY(pmix_query_t, QUERY);
  CHECK_RELEASE(pmix_query_t, QUERY);
  CHECK_FAMILY(pmix_byte_object_t, BYTE_OBJECT);
  CHECK_FAMILY(pmix_envar_t, ENVAR);
  CHECK_FAMILY(pmix_geometry_t, GEOMETRY);
  CHECK_FAMILY(pmix_endpoint_t, ENDPOINT);
  CHECK_FAMILY(pmix_cpuset_t, CPUSET);
  CHECK_FAMILY(pmix_topology_t, TOPOLOGY);
  CHECK_FAMILY(pmix_regattr_t, REGATTR);
  CHECK_FAMILY(pmix_device_t, DEVICE);
  CHECK_FAMILY(pmix_resource_unit_t, RESOURCE_UNIT);
  CHECK_FAMILY(pmix_proc_stats_t, PROC_STATS);
  CHECK_RELEASE(pmix_proc_stats_t, PROC_STATS);
  CHECK_FAMILY(pmix_disk_stats_t, DISK_STATS);
  CHECK_RELEASE(pmix_disk_stats_t, DISK_STATS);
  CHECK_FAMILY(pmix_net_stats_t, NET_STATS);
  CHECK_RELEASE(pmix_net_stats_t, NET_STATS);
  CHECK_FAMILY(pmix_node_stats_t, NODE_STATS);
}

#endif /* CANOPY_TESTS_ABI_MACRO_OBJECTS_H_ */
