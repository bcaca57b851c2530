#ifndef CANOPY_TESTS_ABI_MACROS_CHECK_H_
#define CANOPY_TESTS_ABI_MACROS_CHECK_H_

/* Uses every macro of the C headers, as C and as C++: macros_c_test.c and
 * macros_cc_test.cc include this file. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmix.h"
#include "pmix_server.h"
#include "pmix_tool.h"

static int failures;

#define EXPECT(condition)                                         \
  do {                                                            \
    if (!(condition)) {                                           \
      printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);      \
      ++failures;                                                 \
    }                                                             \
  } while (0)

static int all_zero(const void *object, size_t size) {
  const char *bytes = (const char *) object;
  size_t i;
  for (i = 0; i < size; ++i) {
    if (0 != bytes[i]) {
      return 0;
    }
  }
  return 1;
}

/* CONSTRUCT makes an object all zero, CREATE an array of such objects, FREE
 * takes it back; one macro for the types that have no more to them. */
#define CHECK_FAMILY(type, STEM)                                    \
  do {                                                              \
    type one;                                                       \
    type *many;                                                     \
    memset(&one, 0x5a, sizeof(one));                                \
    PMIX_##STEM##_CONSTRUCT(&one);                                  \
    EXPECT(all_zero(&one, sizeof(one)));                            \
    PMIX_##STEM##_DESTRUCT(&one);                                   \
    PMIX_##STEM##_CREATE(many, 3);                                  \
    EXPECT(NULL != many && all_zero(many, 3 * sizeof(type)));       \
    PMIX_##STEM##_FREE(many, 3);                                    \
    PMIX_##STEM##_CREATE(many, 0);                                  \
    EXPECT(NULL == many);                                           \
  } while (0)

/* RELEASE takes back a single object. */
#define CHECK_RELEASE(type, STEM)                                   \
  do {                                                              \
    type *one;                                                      \
    PMIX_##STEM##_CREATE(one, 1);                                   \
    EXPECT(NULL != one);                                            \
    PMIX_##STEM##_RELEASE(one);                                     \
    EXPECT(NULL == one);                                            \
  } while (0)

#define CHECK_INIT(type, STEM)                                      \
  do {                                                              \
    static const type one = PMIX_##STEM##_STATIC_INIT;              \
    EXPECT(all_zero(&one, sizeof(one)));                            \
  } while (0)

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

static void check_names(void) {
  pmix_info_t info;
  pmix_proc_t a;
  pmix_proc_t b;
  pmix_nspace_t whole;
  pmix_nspace_t cluster;
  pmix_nspace_t nspace;
  char text[600];
  memset(text, 'x', sizeof(text) - 1);
  text[sizeof(text) - 1] = '\0';
  PMIX_LOAD_KEY(info.key, text);
  EXPECT(PMIX_MAX_KEYLEN == strlen(info.key));
  PMIX_LOAD_KEY(info.key, NULL);
  EXPECT(all_zero(info.key, sizeof(info.key)));
  PMIX_LOAD_KEY(info.key, PMIX_JOB_SIZE);
  EXPECT(PMIX_CHECK_KEY(&info, PMIX_JOB_SIZE));
  EXPECT(!PMIX_CHECK_KEY(&info, PMIX_JOBID));
  EXPECT(PMIX_CHECK_RESERVED_KEY(info.key));
  EXPECT(!PMIX_CHECK_RESERVED_KEY("my.key"));
  PMIX_LOAD_NSPACE(whole, text);
  EXPECT(PMIX_MAX_NSLEN == strlen(whole));
  PMIX_PROC_LOAD(&a, "one", 3);
  PMIX_LOAD_PROCID(&b, "one", 4);
  EXPECT(PMIX_CHECK_NSPACE(a.nspace, b.nspace));
  EXPECT(PMIX_CHECK_NSPACE(a.nspace, ""));
  EXPECT(!PMIX_CHECK_NSPACE(a.nspace, "two"));
  EXPECT(!PMIX_CHECK_RANK(a.rank, b.rank));
  EXPECT(PMIX_CHECK_RANK(a.rank, PMIX_RANK_WILDCARD));
  EXPECT(!PMIX_CHECK_PROCID(&a, &b));
  PMIX_XFER_PROCID(&b, &a);
  EXPECT(PMIX_CHECK_PROCID(&a, &b));
  b.rank = PMIX_RANK_WILDCARD;
  EXPECT(PMIX_CHECK_PROCID(&a, &b));
  PMIX_PROCID_XFER(&b, &a);
  EXPECT(3 == b.rank);
  EXPECT(!PMIX_PROCID_INVALID(&a));
  a.rank = PMIX_RANK_INVALID;
  EXPECT(PMIX_PROCID_INVALID(&a));
  EXPECT(PMIX_NSPACE_INVALID("") && !PMIX_NSPACE_INVALID("x"));
  EXPECT(PMIX_RANK_IS_VALID(7) && !PMIX_RANK_IS_VALID(PMIX_RANK_WILDCARD));
  PMIX_MULTICLUSTER_NSPACE_CONSTRUCT(whole, "east", "job:1");
  EXPECT(0 == strcmp(whole, "east:job:1"));
  PMIX_MULTICLUSTER_NSPACE_PARSE(whole, cluster, nspace);
  EXPECT(0 == strcmp(cluster, "east") && 0 == strcmp(nspace, "job:1"));
  PMIX_MULTICLUSTER_NSPACE_CONSTRUCT(whole, text, "job");
  EXPECT('\0' == whole[0]);
  EXPECT(PMIX_SYSTEM_EVENT(PMIX_EVENT_NODE_DOWN));
  EXPECT(!PMIX_SYSTEM_EVENT(PMIX_ERR_TIMEOUT));
}

static void check_arrays_of_text(void) {
  char **argv = NULL;
  char **copy = NULL;
  char *joined;
  int count;
  pmix_status_t rc;
  PMIX_ARGV_COUNT(count, argv);
  EXPECT(0 == count);
  PMIX_ARGV_APPEND(rc, argv, "b");
  EXPECT(PMIX_SUCCESS == rc);
  PMIX_ARGV_PREPEND(rc, argv, "a");
  EXPECT(PMIX_SUCCESS == rc);
  PMIX_ARGV_APPEND_UNIQUE(rc, &argv, "b");
  EXPECT(PMIX_SUCCESS == rc);
  PMIX_ARGV_APPEND_UNIQUE(rc, &argv, "c");
  EXPECT(PMIX_SUCCESS == rc);
  PMIX_ARGV_COPY(copy, argv);
  PMIX_ARGV_FREE(argv);
  PMIX_ARGV_COUNT(count, copy);
  EXPECT(3 == count);
  PMIX_ARGV_JOIN(joined, copy, ',');
  EXPECT(0 == strcmp(joined, "a,b,c"));
  PMIX_ARGV_FREE(copy);
  free(joined);
  PMIX_ARGV_SPLIT(argv, ",x,,y,", ',');
  PMIX_ARGV_JOIN(joined, argv, '-');
  EXPECT(0 == strcmp(joined, "x-y"));
  PMIX_ARGV_FREE(argv);
  free(joined);
  argv = pmix_argv_split_with_empty("a,,b,", ',');
  PMIX_ARGV_JOIN(joined, argv, '-');
  EXPECT(0 == strcmp(joined, "a--b"));
  PMIX_ARGV_FREE(argv);
  free(joined);
  EXPECT(NULL == pmix_argv_split("", ','));
  PMIX_ARGV_JOIN(joined, NULL, ',');
  EXPECT(0 == strcmp(joined, ""));
  free(joined);
}

static void check_environments(void) {
  extern char **environ;
  char **env = NULL;
  char **saved = environ;
  char *own;
  int count;
  pmix_status_t rc;
  PMIX_SETENV(rc, "CANOPY_A", "1", &env);
  EXPECT(PMIX_SUCCESS == rc && 0 == strcmp(env[0], "CANOPY_A=1"));
  EXPECT(PMIX_ERR_EXISTS == pmix_setenv("CANOPY_A", "2", false, &env));
  EXPECT(0 == strcmp(env[0], "CANOPY_A=1"));
  PMIX_SETENV(rc, "CANOPY_A", "2", &env);
  EXPECT(PMIX_SUCCESS == rc && 0 == strcmp(env[0], "CANOPY_A=2"));
  PMIX_SETENV(rc, "CANOPY", NULL, &env);
  EXPECT(PMIX_SUCCESS == rc && 0 == strcmp(env[1], "CANOPY="));
  EXPECT(PMIX_ERR_BAD_PARAM == pmix_setenv("CANOPY", "x", true, NULL));
  pmix_argv_free(env);

  PMIX_SETENV(rc, "CANOPY_OWN", "1", &environ);
  EXPECT(PMIX_SUCCESS == rc && NULL != getenv("CANOPY_OWN"));
  PMIX_ARGV_COUNT(count, environ);
  own = environ[count - 1];
  PMIX_SETENV(rc, "CANOPY_OWN", NULL, &environ);
  EXPECT(PMIX_SUCCESS == rc && NULL == getenv("CANOPY_OWN"));
  free(own);
  free(environ);
  environ = saved;
}

static pmix_boolean_t truth(const char *text) {
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_STRING;
  value.data.string = (char *) text;
  return pmix_check_true(&value);
}

static void check_truth(void) {
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  EXPECT(PMIX_CHECK_TRUE(&value) && PMIX_CHECK_BOOL(&value));
  value.type = PMIX_BOOL;
  EXPECT(!PMIX_CHECK_TRUE(&value) && PMIX_CHECK_BOOL(&value));
  value.data.flag = true;
  EXPECT(PMIX_CHECK_TRUE(&value));
  value.type = PMIX_INT;
  EXPECT(!PMIX_CHECK_TRUE(&value) && !PMIX_CHECK_BOOL(&value));
  EXPECT(PMIX_BOOL_TRUE == truth(NULL) && PMIX_BOOL_TRUE == truth(" "));
  EXPECT(PMIX_BOOL_TRUE == truth(" TRUE") && PMIX_BOOL_TRUE == truth("yes"));
  EXPECT(PMIX_BOOL_TRUE == truth("12") && PMIX_BOOL_FALSE == truth("0"));
  EXPECT(PMIX_BOOL_FALSE == truth("False") && PMIX_BOOL_FALSE == truth("NO"));
  EXPECT(PMIX_NON_BOOL == truth("t") && PMIX_NON_BOOL == truth("on"));
}

static void check_values(void) {
  pmix_value_t value;
  pmix_value_t *copy = NULL;
  pmix_status_t rc;
  uint32_t number = 7;
  double wide = 0.0;
  void *data = NULL;
  size_t size = 0;
  PMIX_VALUE_CONSTRUCT(&value);
  PMIX_VALUE_LOAD(&value, &number, PMIX_UINT32);
  PMIX_VALUE_XFER(rc, copy, &value);
  EXPECT(PMIX_SUCCESS == rc && NULL != copy);
  PMIX_VALUE_GET_NUMBER(rc, copy, wide, double);
  EXPECT(PMIX_SUCCESS == rc && 7.0 == wide);
  PMIX_VALUE_DESTRUCT(copy);
  PMIX_VALUE_XFER_DIRECT(rc, copy, &value);
  EXPECT(PMIX_SUCCESS == rc);
  PMIX_VALUE_RELEASE(copy);
  PMIX_VALUE_UNLOAD(rc, &value, &data, &size);
  EXPECT(PMIX_SUCCESS == rc && sizeof(number) == size);
  EXPECT(NULL != data && 7 == *(uint32_t *) data);
  free(data);
  PMIX_VALUE_DESTRUCT(&value);
  PMIX_VALUE_LOAD(&value, "text", PMIX_STRING);
  PMIX_VALUE_GET_NUMBER(rc, &value, wide, double);
  EXPECT(PMIX_ERR_BAD_PARAM == rc);
  PMIX_VALUE_DESTRUCT(&value);
}

static void check_infos(void) {
  pmix_info_t *infos;
  pmix_info_t one;
  bool flag = false;
  PMIX_INFO_CREATE(infos, 2);
  EXPECT(!PMIX_INFO_IS_END(&infos[0]) && PMIX_INFO_IS_END(&infos[1]));
  PMIX_INFO_LOAD(&infos[0], PMIX_JOB_TERM_STATUS, NULL, PMIX_BOOL);
  EXPECT(PMIX_INFO_TRUE(&infos[0]));
  PMIX_INFO_LOAD(&infos[1], "text", "hello", PMIX_STRING);
  PMIX_INFO_CONSTRUCT(&one);
  PMIX_INFO_XFER(&one, &infos[1]);
  EXPECT(PMIX_CHECK_KEY(&one, "text") && PMIX_STRING == one.value.type);
  EXPECT(one.value.data.string != infos[1].value.data.string);
  PMIX_INFO_DESTRUCT(&one);
  PMIX_INFO_FREE(infos, 2);
  EXPECT(NULL == infos);
  PMIX_INFO_CREATE(infos, 0);
  EXPECT(NULL == infos);

  PMIX_INFO_CONSTRUCT(&one);
  EXPECT(PMIX_INFO_IS_OPTIONAL(&one) && !PMIX_INFO_IS_REQUIRED(&one));
  PMIX_INFO_REQUIRED(&one);
  EXPECT(!PMIX_INFO_IS_OPTIONAL(&one) && PMIX_INFO_IS_REQUIRED(&one));
  PMIX_INFO_OPTIONAL(&one);
  EXPECT(PMIX_INFO_IS_OPTIONAL(&one));
  EXPECT(!PMIX_INFO_WAS_PROCESSED(&one));
  PMIX_INFO_PROCESSED(&one);
  EXPECT(PMIX_INFO_WAS_PROCESSED(&one));
  PMIX_INFO_SET_END(&one);
  EXPECT(PMIX_INFO_IS_END(&one));
  PMIX_INFO_SET_QUALIFIER(&one);
  EXPECT(PMIX_INFO_IS_QUALIFIER(&one));
  PMIX_INFO_LOAD(&one, "flag", &flag, PMIX_BOOL);
  EXPECT(!PMIX_INFO_TRUE(&one));
  PMIX_INFO_SET_PERSISTENT(&one);
  EXPECT(PMIX_INFO_IS_PERSISTENT(&one));
  PMIX_INFO_DESTRUCT(&one);
  EXPECT(PMIX_BOOL == one.value.type);
}

static void check_info_lists(void) {
  void *list;
  pmix_status_t rc;
  pmix_info_t info;
  pmix_data_array_t array = PMIX_DATA_ARRAY_STATIC_INIT;
  pmix_info_t *infos;
  int32_t number = 5;
  PMIX_INFO_LIST_START(list);
  EXPECT(NULL != list);
  PMIX_INFO_LIST_ADD(rc, list, "second", &number, PMIX_INT32);
  EXPECT(PMIX_SUCCESS == rc);
  PMIX_INFO_LIST_PREPEND(rc, list, "first", "text", PMIX_STRING);
  EXPECT(PMIX_SUCCESS == rc);
  PMIX_INFO_CONSTRUCT(&info);
  PMIX_INFO_LOAD(&info, "third", "copied", PMIX_STRING);
  PMIX_INFO_LIST_XFER(rc, list, &info);
  EXPECT(PMIX_SUCCESS == rc);
  PMIX_INFO_LIST_INSERT(rc, list, &info);
  EXPECT(PMIX_SUCCESS == rc);
  PMIX_INFO_LIST_CONVERT(rc, list, &array);
  EXPECT(PMIX_SUCCESS == rc && PMIX_INFO == array.type && 4 == array.size);
  infos = (pmix_info_t *) array.array;
  if (4 == array.size) {
    EXPECT(PMIX_CHECK_KEY(&infos[0], "first"));
    EXPECT(PMIX_CHECK_KEY(&infos[3], "third"));
  }
  PMIX_DATA_ARRAY_DESTRUCT(&array);
  PMIX_INFO_LIST_RELEASE(list);
  EXPECT(0 == strcmp(info.value.data.string, "copied"));
  PMIX_INFO_DESTRUCT(&info);
}

static void check_published_data(void) {
  pmix_proc_t proc;
  pmix_pdata_t a;
  pmix_pdata_t b;
  PMIX_PROC_LOAD(&proc, "job", 1);
  PMIX_PDATA_LOAD(&a, &proc, "key", "text", PMIX_STRING);
  PMIX_PDATA_XFER(&b, &a);
  EXPECT(PMIX_CHECK_PROCID(&b.proc, &proc) && PMIX_CHECK_KEY(&b, "key"));
  EXPECT(PMIX_STRING == b.value.type &&
         0 == strcmp(b.value.data.string, "text"));
  PMIX_PDATA_DESTRUCT(&a);
  PMIX_PDATA_DESTRUCT(&b);
}

static void check_requests(void) {
  pmix_app_t *apps;
  pmix_query_t query;
  pmix_proc_info_t *procs;
  pmix_status_t rc;
  PMIX_APP_CREATE(apps, 2);
  apps[0].cmd = canopy_copy_text("prog");
  PMIX_ARGV_APPEND(rc, apps[0].argv, "prog");
  EXPECT(PMIX_SUCCESS == rc);
  PMIX_APP_INFO_CREATE(&apps[1], 3);
  EXPECT(3 == apps[1].ninfo && PMIX_INFO_IS_END(&apps[1].info[2]));
  PMIX_APP_FREE(apps, 2);
  EXPECT(NULL == apps);
  PMIX_QUERY_CONSTRUCT(&query);
  PMIX_ARGV_APPEND(rc, query.keys, PMIX_QUERY_NAMESPACES);
  EXPECT(PMIX_SUCCESS == rc);
  PMIX_QUERY_QUALIFIERS_CREATE(&query, 1);
  EXPECT(1 == query.nqual && NULL != query.qualifiers);
  PMIX_QUERY_DESTRUCT(&query);
  EXPECT(all_zero(&query, sizeof(query)));
  PMIX_PROC_INFO_CREATE(procs, 1);
  procs->hostname = canopy_copy_text("node");
  PMIX_PROC_INFO_RELEASE(procs);
}

static void check_bytes(void) {
  pmix_byte_object_t object = PMIX_BYTE_OBJECT_STATIC_INIT;
  pmix_data_buffer_t *buffer;
  pmix_data_buffer_t local;
  char *bytes = canopy_copy_text("1234");
  size_t size = 4;
  PMIX_BYTE_OBJECT_LOAD(&object, bytes, size);
  EXPECT(NULL == bytes && 0 == size && 4 == object.size);
  PMIX_BYTE_OBJECT_DESTRUCT(&object);
  EXPECT(NULL == object.bytes && 0 == object.size);
  memset(&local, 0x5a, sizeof(local));
  PMIX_DATA_BUFFER_CONSTRUCT(&local);
  EXPECT(all_zero(&local, sizeof(local)));
  PMIX_DATA_BUFFER_DESTRUCT(&local);
  PMIX_DATA_BUFFER_CREATE(buffer);
  EXPECT(NULL != buffer && all_zero(buffer, sizeof(*buffer)));
  bytes = canopy_copy_text("5678");
  PMIX_DATA_BUFFER_LOAD(buffer, bytes, 4);
  bytes = NULL;
  PMIX_DATA_BUFFER_UNLOAD(buffer, bytes, size);
  EXPECT(4 == size && NULL != bytes && 0 == memcmp(bytes, "5678", 4));
  free(bytes);
  PMIX_DATA_BUFFER_RELEASE(buffer);
  EXPECT(NULL == buffer);
}

static void check_data_arrays(void) {
  pmix_data_array_t array;
  pmix_data_array_t *heap;
  memset(&array, 0x5a, sizeof(array));
  PMIX_DATA_ARRAY_INIT(&array, PMIX_PROC);
  EXPECT(PMIX_PROC == array.type && 0 == array.size && NULL == array.array);
  PMIX_DATA_ARRAY_CONSTRUCT(&array, 2, PMIX_INFO);
  EXPECT(2 == array.size && NULL != array.array);
  EXPECT(PMIX_INFO_IS_END(&((pmix_info_t *) array.array)[1]));
  PMIX_DATA_ARRAY_DESTRUCT(&array);
  PMIX_DATA_ARRAY_CONSTRUCT(&array, 2, PMIX_DEVICE_DIST);
  EXPECT(UINT16_MAX == ((pmix_device_distance_t *) array.array)[1].mindist);
  PMIX_DATA_ARRAY_DESTRUCT(&array);
  PMIX_DATA_ARRAY_CONSTRUCT(&array, 2, PMIX_KVAL);
  EXPECT(0 == array.size && NULL == array.array);
  PMIX_DATA_ARRAY_CREATE(heap, 3, PMIX_UINT32);
  EXPECT(NULL != heap && 3 == heap->size && PMIX_UINT32 == heap->type);
  PMIX_DATA_ARRAY_FREE(heap);
  EXPECT(NULL == heap);
  PMIX_DATA_ARRAY_CREATE(heap, 0, PMIX_UINT32);
  EXPECT(NULL != heap && NULL == heap->array);
  PMIX_DATA_ARRAY_RELEASE(heap);
  EXPECT(NULL == heap);
}

static void check_devices(void) {
  pmix_envar_t envar = PMIX_ENVAR_STATIC_INIT;
  pmix_coord_t *coords;
  pmix_coord_t coord;
  pmix_device_distance_t *distances;
  pmix_device_distance_t distance;
  pmix_fabric_t fabric;
  PMIX_ENVAR_LOAD(&envar, "PATH", "/bin", ':');
  EXPECT(0 == strcmp(envar.envar, "PATH") && ':' == envar.separator);
  PMIX_ENVAR_DESTRUCT(&envar);
  EXPECT(NULL == envar.envar && NULL == envar.value);
  PMIX_COORD_CREATE(coords, 2, 3);
  EXPECT(NULL != coords && 3 == coords[1].dims && 0 == coords[1].coord[2]);
  PMIX_COORD_FREE(coords, 2);
  EXPECT(NULL == coords);
  memset(&coord, 0x5a, sizeof(coord));
  PMIX_COORD_CONSTRUCT(&coord);
  EXPECT(all_zero(&coord, sizeof(coord)));
  PMIX_COORD_DESTRUCT(&coord);
  PMIX_DEVICE_DIST_CONSTRUCT(&distance);
  EXPECT(UINT16_MAX == distance.mindist && NULL == distance.uuid);
  PMIX_DEVICE_DIST_DESTRUCT(&distance);
  PMIX_DEVICE_DIST_CREATE(distances, 2);
  EXPECT(NULL != distances && UINT16_MAX == distances[1].maxdist);
  PMIX_DEVICE_DIST_FREE(distances, 2);
  EXPECT(NULL == distances);
  memset(&fabric, 0x5a, sizeof(fabric));
  PMIX_FABRIC_CONSTRUCT(&fabric);
  EXPECT(all_zero(&fabric, sizeof(fabric)));
}

static void check_records(void) {
  pmix_regattr_t a;
  pmix_regattr_t b;
  pmix_node_stats_t stats;
  PMIX_REGATTR_CONSTRUCT(&a);
  PMIX_REGATTR_LOAD(&a, "PMIX_RANK", PMIX_RANK, PMIX_PROC_RANK, "the rank");
  PMIX_REGATTR_XFER(&b, &a);
  PMIX_REGATTR_DESTRUCT(&a);
  EXPECT(0 == strcmp(b.name, "PMIX_RANK") && 0 == strcmp(b.string, PMIX_RANK));
  EXPECT(PMIX_PROC_RANK == b.type && 0 == strcmp(b.description[0], "the rank"));
  PMIX_REGATTR_DESTRUCT(&b);
  PMIX_NODE_STATS_CONSTRUCT(&stats);
  stats.node = canopy_copy_text("node");
  PMIX_DISK_STATS_CREATE(stats.diskstats, 1);
  stats.ndiskstats = 1;
  stats.diskstats->disk = canopy_copy_text("sda");
  PMIX_NODE_STATS_RELEASE(&stats);
  EXPECT(all_zero(&stats, sizeof(stats)));
}

static int check_macros(void) {
  check_initialisers();
  check_families();
  check_names();
  check_arrays_of_text();
  check_environments();
  check_truth();
  check_values();
  check_infos();
  check_info_lists();
  check_published_data();
  check_requests();
  check_bytes();
  check_data_arrays();
  check_devices();
  check_records();
  return failures;
}

#endif /* CANOPY_TESTS_ABI_MACROS_CHECK_H_ */
