/* A C program that calls every helper of the library as applications do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmix.h"
#include "pmix_server.h"

static int failures = 0;

static void check(int holds, const char *what, int line) {
  if (!holds) {
    fprintf(stderr, "line %d: %s\n", line, what);
    ++failures;
  }
}

#define EXPECT(condition) check(!!(condition), #condition, __LINE__)
#define EXPECT_OK(call) EXPECT((call) == PMIX_SUCCESS)

/* Tests construct, destruct, create and free of a structure that is all zeros
 * when empty. */
#define OBJECT(Name, struct_t)                         \
  do {                                                 \
    struct_t object, zeros;                            \
    struct_t *array;                                   \
    memset(&zeros, 0, sizeof(zeros));                  \
    memset(&object, 0x5a, sizeof(object));             \
    PMIx_##Name##_construct(&object);                  \
    EXPECT(!memcmp(&object, &zeros, sizeof(zeros)));   \
    PMIx_##Name##_destruct(&object);                   \
    EXPECT(PMIx_##Name##_create(0) == NULL);           \
    array = PMIx_##Name##_create(3);                   \
    EXPECT(!memcmp(&array[2], &zeros, sizeof(zeros))); \
    PMIx_##Name##_free(array, 3);                      \
    PMIx_##Name##_free(NULL, 0);                       \
  } while (0)

static void objects(void) {
  pmix_device_distance_t distance;
  pmix_device_distance_t *distances;
  pmix_coord_t *coords;
  pmix_coord_t coord;
  pmix_fabric_t fabric;
  OBJECT(App, pmix_app_t);
  OBJECT(Byte_object, pmix_byte_object_t);
  OBJECT(Cpuset, pmix_cpuset_t);
  OBJECT(Device, pmix_device_t);
  OBJECT(Endpoint, pmix_endpoint_t);
  OBJECT(Envar, pmix_envar_t);
  OBJECT(Geometry, pmix_geometry_t);
  OBJECT(Node_pid, pmix_node_pid_t);
  OBJECT(Nodepid, pmix_node_pid_t);
  OBJECT(Pdata, pmix_pdata_t);
  OBJECT(Proc, pmix_proc_t);
  OBJECT(Proc_info, pmix_proc_info_t);
  OBJECT(Query, pmix_query_t);
  OBJECT(Regattr, pmix_regattr_t);
  OBJECT(Regex2, pmix_regex2_t);
  OBJECT(Resource_unit, pmix_resource_unit_t);
  OBJECT(Topology, pmix_topology_t);
  OBJECT(Value, pmix_value_t);

  PMIx_Device_distance_construct(&distance);
  EXPECT(distance.mindist == UINT16_MAX && distance.uuid == NULL);
  PMIx_Device_distance_destruct(&distance);
  distances = PMIx_Device_distance_create(2);
  EXPECT(distances[1].maxdist == UINT16_MAX);
  PMIx_Device_distance_free(distances, 2);

  PMIx_Coord_construct(&coord);
  EXPECT(coord.coord == NULL && coord.dims == 0);
  PMIx_Coord_destruct(&coord);
  coords = PMIx_Coord_create(3, 2);
  EXPECT(coords[1].dims == 3 && coords[1].coord[2] == 0);
  PMIx_Coord_free(coords, 2);
  memset(&fabric, 0x5a, sizeof(fabric));
  PMIx_Fabric_construct(&fabric);
  EXPECT(fabric.name == NULL && fabric.module == NULL);
}

static void members(void) {
  pmix_app_t *app = PMIx_App_create(1);
  pmix_query_t *query = PMIx_Query_create(1);
  pmix_pdata_t *pdata = PMIx_Pdata_create(1);
  pmix_pdata_t copy;
  pmix_envar_t envar;
  pmix_byte_object_t bytes;
  pmix_regattr_t attribute, other;
  pmix_proc_t proc;
  uint32_t number = 5;

  PMIx_App_info_create(app, 2);
  EXPECT(app->ninfo == 2 && PMIx_Info_is_end(&app->info[1]));
  PMIx_App_release(app);
  PMIx_Query_qualifiers_create(query, 1);
  EXPECT(query->nqual == 1);
  PMIx_Query_release(query);

  PMIx_Proc_load(&proc, "ns", 3);
  PMIx_Pdata_load(pdata, &proc, "key", &number, PMIX_UINT32);
  EXPECT(pdata->value.data.uint32 == 5 && !strcmp(pdata->key, "key"));
  PMIx_Pdata_xfer(&copy, pdata);
  EXPECT(copy.proc.rank == 3 && copy.value.data.uint32 == 5);
  PMIx_Pdata_destruct(&copy);
  PMIx_Pdata_release(pdata);

  PMIx_Envar_load(&envar, (char *)"A", (char *)"b", ':');
  EXPECT(!strcmp(envar.envar, "A") && envar.separator == ':');
  PMIx_Envar_destruct(&envar);
  PMIx_Byte_object_load(&bytes, strdup("abc"), 3);
  EXPECT(bytes.size == 3);
  PMIx_Byte_object_destruct(&bytes);

  PMIx_Regattr_load(&attribute, "N", "s", PMIX_UINT32, "text");
  PMIx_Regattr_xfer(&other, &attribute);
  EXPECT(!strcmp(other.name, "N") && !strcmp(other.string, "s"));
  EXPECT(other.type == PMIX_UINT32 && !strcmp(other.description[0], "text"));
  PMIx_Regattr_destruct(&attribute);
  PMIx_Regattr_destruct(&other);
}

static void arrays(void) {
  pmix_data_array_t array;
  pmix_data_array_t *made;
  PMIx_Data_array_init(&array, PMIX_INFO);
  EXPECT(array.type == PMIX_INFO && array.size == 0 && array.array == NULL);
  PMIx_Data_array_construct(&array, 2, PMIX_STRING);
  ((char **)array.array)[1] = strdup("text");
  EXPECT(array.size == 2);
  PMIx_Data_array_destruct(&array);
  EXPECT(array.array == NULL);
  made = PMIx_Data_array_create(3, PMIX_UINT64);
  EXPECT(made->size == 3 && ((uint64_t *)made->array)[2] == 0);
  PMIx_Data_array_free(made);
  EXPECT(PMIx_Data_array_create(1, 400) == NULL);
}

static void values(void) {
  pmix_value_t value, copy;
  uint32_t number = 5, back = 0;
  size_t size = 0;
  void *place = &back;
  int8_t narrow = 0;
  char *text;
  uint64_t wide = 300;

  EXPECT_OK(PMIx_Value_load(&value, &number, PMIX_UINT32));
  EXPECT_OK(PMIx_Value_unload(&value, &place, &size));
  EXPECT(back == 5 && size == 4 && place == &back);
  EXPECT_OK(PMIx_Value_get_number(&value, &narrow, PMIX_INT8));
  EXPECT(narrow == 5);
  EXPECT_OK(PMIx_Value_xfer(&copy, &value));
  EXPECT(PMIx_Value_compare(&value, &copy) == PMIX_EQUAL);
  EXPECT_OK(PMIx_Value_get_size(&value, &size));
  EXPECT(size == sizeof(pmix_value_t));
  EXPECT(PMIx_Value_true(&value) == PMIX_NON_BOOL);
  text = PMIx_Value_string(&value);
  EXPECT(!strcmp(text, " PMIX_VALUE:  Data type: PMIX_UINT32\tValue: 5"));
  free(text);

  EXPECT_OK(PMIx_Value_load(&value, "text", PMIX_STRING));
  EXPECT(PMIx_Value_compare(&value, &copy) == PMIX_VALUE_TYPE_DIFFERENT);
  EXPECT_OK(PMIx_Value_get_size(&value, &size));
  EXPECT(size == sizeof(pmix_value_t) + 5);
  place = NULL;
  EXPECT_OK(PMIx_Value_unload(&value, &place, &size));
  EXPECT(size == 4 && !strcmp(place, "text") && place != value.data.string);
  free(place);
  PMIx_Value_destruct(&value);
  EXPECT(value.type == PMIX_UNDEF);

  EXPECT_OK(PMIx_Value_load(&value, NULL, PMIX_BOOL));
  EXPECT(PMIx_Value_true(&value) == PMIX_BOOL_TRUE);
  EXPECT_OK(PMIx_Value_load(&value, &wide, PMIX_UINT64));
  EXPECT(PMIx_Value_get_number(&value, &narrow, PMIX_INT8) ==
         PMIX_ERR_LOST_PRECISION);
  EXPECT(PMIx_Value_load(&value, &wide, 400) == PMIX_ERR_UNKNOWN_DATA_TYPE);
  EXPECT(PMIx_Value_load(NULL, &wide, PMIX_UINT64) == PMIX_ERR_BAD_PARAM);
  EXPECT(PMIx_Value_xfer(&copy, NULL) == PMIX_ERR_BAD_PARAM);
}

static void infos(void) {
  pmix_info_t info, copy;
  pmix_info_t *array = PMIx_Info_create(2);
  char *text;
  char *shared;
  size_t size = 0;

  EXPECT(PMIx_Info_is_end(&array[1]) && !PMIx_Info_is_end(&array[0]));
  PMIx_Info_free(array, 2);
  PMIx_Info_construct(&info);
  EXPECT(info.key[0] == '\0' && info.value.type == PMIX_UNDEF);
  EXPECT_OK(PMIx_Info_load(&info, "key", "text", PMIX_STRING));
  EXPECT(PMIx_Info_is_optional(&info));
  PMIx_Info_required(&info);
  EXPECT(PMIx_Info_is_required(&info));
  PMIx_Info_processed(&info);
  EXPECT(PMIx_Info_was_processed(&info));
  PMIx_Info_qualifier(&info);
  EXPECT(PMIx_Info_is_qualifier(&info));
  PMIx_Info_set_end(&info);
  EXPECT(PMIx_Info_is_end(&info));
  PMIx_Info_optional(&info);
  EXPECT(PMIx_Info_is_optional(&info));
  EXPECT(PMIx_Info_true(&info) == PMIX_NON_BOOL);
  EXPECT_OK(PMIx_Info_get_size(&info, &size));
  EXPECT(size == sizeof(info) + 5);
  EXPECT_OK(PMIx_Info_xfer(&copy, &info));
  EXPECT(copy.flags == info.flags && !strcmp(copy.key, "key"));
  EXPECT(copy.value.data.string != info.value.data.string);
  PMIx_Info_destruct(&copy);

  info.flags = 0;
  text = PMIx_Info_string(&info);
  EXPECT(strstr(text, "KEY: key") && strstr(text, "Value: text"));
  free(text);
  PMIx_Info_persistent(&info);
  EXPECT(PMIx_Info_is_persistent(&info));
  EXPECT_OK(PMIx_Info_xfer(&copy, &info));
  EXPECT(copy.value.data.string == info.value.data.string);
  shared = info.value.data.string;
  PMIx_Info_destruct(&copy);
  PMIx_Info_destruct(&info);
  EXPECT(!strcmp(shared, "text"));
  free(shared);
  EXPECT(PMIx_Info_load(&info, NULL, "x", PMIX_STRING) == PMIX_ERR_BAD_PARAM);
}

static void info_lists(void) {
  void *list = PMIx_Info_list_start();
  void *next = NULL;
  pmix_info_t info;
  pmix_info_t *found;
  pmix_value_t value;
  pmix_data_array_t array;
  uint32_t number = 1, other = 2;
  size_t seen = 0;

  EXPECT(PMIx_Info_list_convert(list, &array) == PMIX_ERR_EMPTY);
  EXPECT(PMIx_Info_list_get_info(list, NULL, &next) == NULL);
  EXPECT_OK(PMIx_Info_list_add(list, "b", &number, PMIX_UINT32));
  EXPECT_OK(PMIx_Info_list_prepend(list, "a", "first", PMIX_STRING));
  EXPECT(PMIx_Info_list_add_unique(list, "b", &other, PMIX_UINT32, false) ==
         PMIX_ERR_EXISTS);
  EXPECT_OK(PMIx_Info_list_add_unique(list, "b", &other, PMIX_UINT32, true));
  EXPECT_OK(PMIx_Value_load(&value, "value", PMIX_STRING));
  EXPECT_OK(PMIx_Info_list_add_value(list, "c", &value));
  EXPECT(PMIx_Info_list_add_value_unique(list, "c", &value, false) ==
         PMIX_ERR_EXISTS);
  PMIx_Value_destruct(&value);
  EXPECT_OK(PMIx_Info_load(&info, "d", "shared", PMIX_STRING));
  EXPECT_OK(PMIx_Info_list_insert(list, &info));
  EXPECT_OK(PMIx_Info_list_xfer(list, &info));
  EXPECT(PMIx_Info_list_xfer_unique(list, &info, false) == PMIX_ERR_EXISTS);
  EXPECT(PMIx_Info_list_get_size(list) == 5);

  found = PMIx_Info_list_get_info(list, NULL, &next);
  EXPECT(!strcmp(found->key, "a"));
  for (seen = 1; next != NULL; ++seen) {
    found = PMIx_Info_list_get_info(list, next, &next);
  }
  EXPECT(seen == 5 && !strcmp(found->key, "d"));

  EXPECT_OK(PMIx_Info_list_convert(list, &array));
  EXPECT(array.type == PMIX_INFO && array.size == 5);
  found = (pmix_info_t *)array.array;
  EXPECT(found[1].value.data.uint32 == 2);
  EXPECT(found[3].value.data.string == info.value.data.string);
  EXPECT(found[4].value.data.string != info.value.data.string);
  PMIx_Info_list_release(list);
  PMIx_Data_array_destruct(&array);
  EXPECT(!strcmp(info.value.data.string, "shared"));
  PMIx_Info_destruct(&info);
}

static void names(void) {
  pmix_proc_t a, b;
  pmix_key_t key;
  pmix_nspace_t nspace, cluster, joined;
  PMIx_Load_key(key, "pmix.x");
  PMIx_Load_nspace(nspace, "ns");
  PMIx_Load_nspace(cluster, "west");
  PMIx_Load_procid(&a, "ns", 1);
  PMIx_Xfer_procid(&b, &a);
  EXPECT(PMIx_Check_procid(&a, &b) && PMIx_Check_nspace(nspace, b.nspace));
  b.rank = 2;
  EXPECT(!PMIx_Check_procid(&a, &b) && !PMIx_Check_rank(1, 2));
  EXPECT(PMIx_Check_rank(1, PMIX_RANK_WILDCARD));
  EXPECT(PMIx_Check_nspace("", "ns") && !PMIx_Check_nspace("n", "ns"));
  EXPECT(PMIx_Check_key(key, "pmix.x") && !PMIx_Check_key(key, "pmix"));
  EXPECT(PMIx_Check_reserved_key(key) && !PMIx_Check_reserved_key("x.pmix"));
  EXPECT(PMIx_Nspace_invalid(NULL) && PMIx_Nspace_invalid("") &&
         !PMIx_Nspace_invalid("a"));
  EXPECT(!PMIx_Procid_invalid(&a));
  a.rank = PMIX_RANK_INVALID;
  EXPECT(PMIx_Procid_invalid(&a));
  EXPECT(PMIx_Rank_valid(0) && !PMIx_Rank_valid(PMIX_RANK_WILDCARD));
  EXPECT(PMIx_System_event(PMIX_EVENT_NODE_DOWN) && !PMIx_System_event(-1));
  PMIx_Multicluster_nspace_construct(joined, cluster, nspace);
  EXPECT(!strcmp(joined, "west:ns"));
  memset(nspace, 0, sizeof(nspace));
  PMIx_Multicluster_nspace_parse(joined, cluster, nspace);
  EXPECT(!strcmp(nspace, "ns") && !strcmp(cluster, "west"));
}

static void string_arrays(void) {
  char **argv = NULL, **copy;
  char *joined;
  char **env = NULL;
  EXPECT_OK(PMIx_Argv_append_nosize(&argv, "b"));
  EXPECT_OK(PMIx_Argv_prepend_nosize(&argv, "a"));
  EXPECT_OK(PMIx_Argv_append_unique_nosize(&argv, "b"));
  EXPECT(PMIx_Argv_count(argv) == 2);
  copy = PMIx_Argv_copy(argv);
  joined = PMIx_Argv_join(copy, ',');
  EXPECT(!strcmp(joined, "a,b"));
  free(joined);
  PMIx_Argv_free(copy);
  PMIx_Argv_free(argv);
  argv = PMIx_Argv_split("a,,b", ',');
  EXPECT(PMIx_Argv_count(argv) == 2);
  PMIx_Argv_free(argv);
  argv = PMIx_Argv_split_with_empty("a,,b", ',');
  EXPECT(PMIx_Argv_count(argv) == 3);
  PMIx_Argv_free(argv);
  argv = PMIx_Argv_split_inter("a,,b", ',', true);
  EXPECT(PMIx_Argv_count(argv) == 3);
  PMIx_Argv_free(argv);
  EXPECT_OK(PMIx_Setenv("X", "1", true, &env));
  EXPECT_OK(PMIx_Setenv("X", "2", true, &env));
  EXPECT(!strcmp(env[0], "X=2") && env[1] == NULL);
  PMIx_Argv_free(env);
}

static void regexes(void) {
  char *text = NULL;
  pmix_regex2_t regex;
  EXPECT_OK(PMIx_generate_regex("node001,node002,gpu01", &text));
  EXPECT(!strcmp(text, "pmix[node[3:1-2],gpu[2:1]]"));
  free(text);
  EXPECT_OK(PMIx_generate_ppn("0,1;2", &text));
  EXPECT(!strcmp(text, "raw:0,1;2"));
  free(text);
  EXPECT_OK(PMIx_generate_regex2("n1,n2", NULL, 0, &regex));
  EXPECT_OK(PMIx_parse_regex2(&regex, NULL, 0, &text));
  EXPECT(!strcmp(text, "n1,n2"));
  free(text);
  free(regex.type);
  regex.type = strdup("other");
  EXPECT(PMIx_parse_regex2(&regex, NULL, 0, &text) == PMIX_ERR_NOT_SUPPORTED);
  PMIx_Regex2_destruct(&regex);
}

static void buffers(void) {
  pmix_data_buffer_t *buffer = PMIx_Data_buffer_create();
  pmix_data_buffer_t other;
  pmix_byte_object_t payload;
  uint32_t numbers[] = {1, 300, 3}, back[3] = {0, 0, 0};
  char *text = (char *)"text", *text_back = NULL;
  char *regex = (char *)"raw:1", *regex_back = NULL;
  char *bytes = NULL;
  size_t size = 0;
  int32_t count = 3;
  void *copy = NULL;
  char *printed = NULL;

  EXPECT_OK(PMIx_Data_pack(NULL, buffer, numbers, 3, PMIX_UINT32));
  EXPECT(buffer->bytes_used == 5 &&
         !memcmp(buffer->base_ptr, "\6\1\254\2\3", 5));
  EXPECT_OK(PMIx_Data_pack(NULL, buffer, &text, 1, PMIX_STRING));
  EXPECT_OK(PMIx_Data_pack(NULL, buffer, &regex, 1, PMIX_REGEX));
  EXPECT_OK(PMIx_Data_unpack(NULL, buffer, back, &count, PMIX_UINT32));
  EXPECT(count == 3 && !memcmp(numbers, back, sizeof(back)));
  count = 1;
  EXPECT_OK(PMIx_Data_unpack(NULL, buffer, &text_back, &count, PMIX_STRING));
  EXPECT(!strcmp(text_back, "text"));
  free(text_back);
  PMIx_Data_buffer_construct(&other);
  EXPECT_OK(PMIx_Data_copy_payload(&other, buffer));
  EXPECT_OK(PMIx_Data_unpack(NULL, buffer, &regex_back, &count, PMIX_REGEX));
  EXPECT(!strcmp(regex_back, "raw:1"));
  free(regex_back);
  EXPECT(PMIx_Data_unpack(NULL, buffer, back, &count, PMIX_UINT32) ==
         PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER);
  EXPECT(count == 0);
  EXPECT(PMIx_Data_pack(NULL, buffer, numbers, 1, 400) ==
         PMIX_ERR_UNKNOWN_DATA_TYPE);
  EXPECT(PMIx_Data_pack(NULL, buffer, NULL, 1, PMIX_UINT32) ==
         PMIX_ERR_BAD_PARAM);
  PMIx_Data_buffer_release(buffer);

  EXPECT_OK(PMIx_Data_unload(&other, &payload));
  EXPECT(payload.size == 7 && other.base_ptr == NULL);
  EXPECT_OK(PMIx_Data_load(&other, &payload));
  EXPECT(payload.bytes == NULL && other.bytes_used == 7);
  PMIx_Data_buffer_unload(&other, &bytes, &size);
  EXPECT(size == 7);
  payload.bytes = bytes;
  payload.size = size;
  EXPECT_OK(PMIx_Data_embed(&other, &payload));
  EXPECT(other.base_ptr != bytes && other.bytes_used == 7);
  PMIx_Data_buffer_destruct(&other);
  PMIx_Data_buffer_load(&other, bytes, size);
  EXPECT(other.base_ptr == bytes);
  PMIx_Data_buffer_destruct(&other);

  /* With too little room, the elements that fit are stored and the rest of the
   * call is skipped. */
  EXPECT_OK(PMIx_Data_pack(NULL, &other, numbers, 3, PMIX_UINT32));
  EXPECT_OK(PMIx_Data_pack(NULL, &other, numbers, 1, PMIX_UINT32));
  memset(back, 0, sizeof(back));
  count = 2;
  EXPECT(PMIx_Data_unpack(NULL, &other, back, &count, PMIX_UINT32) ==
         PMIX_ERR_UNPACK_INADEQUATE_SPACE);
  EXPECT(count == 2 && back[1] == 300 && back[2] == 0);
  count = 1;
  EXPECT_OK(PMIx_Data_unpack(NULL, &other, back, &count, PMIX_UINT32));
  EXPECT(back[0] == 1);
  PMIx_Data_buffer_destruct(&other);

  EXPECT_OK(PMIx_Data_copy(&copy, numbers, PMIX_UINT32));
  EXPECT(*(uint32_t *)copy == 1);
  free(copy);
  EXPECT_OK(PMIx_Data_copy(&copy, text, PMIX_STRING));
  EXPECT(!strcmp(copy, "text") && copy != text);
  free(copy);
  EXPECT_OK(PMIx_Data_print(&printed, (char *)"P ", numbers, PMIX_UINT32));
  EXPECT(!strcmp(printed, "P Data type: PMIX_UINT32\tValue: 1"));
  free(printed);
  EXPECT_OK(PMIx_Data_print(&printed, NULL, text, PMIX_STRING));
  EXPECT(!strcmp(printed, " Data type: PMIX_STRING\tValue: text"));
  free(printed);
}

static void growing(void) {
  pmix_data_buffer_t buffer;
  uint64_t i, back = 0;
  int32_t count = 1;
  PMIx_Data_buffer_construct(&buffer);
  for (i = 0; i < 5000; ++i) {
    EXPECT_OK(PMIx_Data_pack(NULL, &buffer, &i, 1, PMIX_UINT64));
  }
  for (i = 0; i < 5000; ++i) {
    count = 1;
    EXPECT_OK(PMIx_Data_unpack(NULL, &buffer, &back, &count, PMIX_UINT64));
    EXPECT(back == i);
    /* Packing between unpacking moves the memory, but not the position. */
    EXPECT_OK(PMIx_Data_pack(NULL, &buffer, &i, 1, PMIX_UINT64));
  }
  PMIx_Data_buffer_destruct(&buffer);
}

static void compression(void) {
  uint8_t content[5000];
  uint8_t *packed = NULL, *back = NULL;
  size_t size = 0, length = 0;
  memset(content, 'x', sizeof(content));
  EXPECT(PMIx_Data_compress(content, sizeof(content), &packed, &size));
  EXPECT(size < 100);
  EXPECT(PMIx_Data_decompress(packed, size, &back, &length));
  EXPECT(length == sizeof(content) && !memcmp(back, content, length));
  free(packed);
  free(back);
  EXPECT(!PMIx_Data_compress(content, 3, &packed, &size) && packed == NULL);
  EXPECT(!PMIx_Data_decompress(content, 20, &back, &length) && back == NULL);
}

static void apps(void) {
  pmix_app_t app;
  char *text;
  PMIx_App_construct(&app);
  app.cmd = strdup("prog");
  text = PMIx_App_string(&app);
  EXPECT(strstr(text, "prog"));
  free(text);
  PMIx_App_destruct(&app);
}

/* Passes null for arguments that may be absent. */
static void absent(void) {
  char **none = NULL;
  pmix_proc_t proc, zeros;
  pmix_pdata_t data;
  pmix_info_t info;
  memset(&zeros, 0, sizeof(zeros));
  EXPECT(PMIx_Argv_append_nosize(NULL, "x") == PMIX_ERR_BAD_PARAM);
  EXPECT(PMIx_Argv_append_nosize(&none, NULL) == PMIX_ERR_BAD_PARAM);
  EXPECT(PMIx_Argv_prepend_nosize(NULL, "x") == PMIX_ERR_BAD_PARAM);
  EXPECT(PMIx_Argv_append_unique_nosize(&none, NULL) == PMIX_ERR_BAD_PARAM);
  EXPECT(none == NULL);
  EXPECT(PMIx_Setenv("X", "1", true, NULL) == PMIX_ERR_BAD_PARAM);
  PMIx_Load_procid(NULL, "job", 1);
  PMIx_Xfer_procid(NULL, &zeros);
  PMIx_Load_procid(&proc, NULL, 1);
  EXPECT(proc.nspace[0] == '\0' && proc.rank == 1);
  PMIx_Xfer_procid(&proc, NULL);
  EXPECT(!memcmp(&proc, &zeros, sizeof(zeros)));
  EXPECT(PMIx_Check_procid(NULL, NULL));
  EXPECT(!PMIx_Check_procid(&proc, NULL));
  EXPECT(PMIx_Procid_invalid(NULL));
  EXPECT(PMIx_Value_true(NULL) == PMIX_BOOL_FALSE);
  EXPECT(PMIx_Value_load(NULL, NULL, PMIX_BOOL) == PMIX_ERR_BAD_PARAM);
  EXPECT(PMIx_Info_load(&info, NULL, NULL, PMIX_BOOL) == PMIX_ERR_BAD_PARAM);
  EXPECT(PMIx_Info_xfer(NULL, &info) == PMIX_ERR_BAD_PARAM);
  PMIx_Pdata_load(NULL, &proc, "key", NULL, PMIX_BOOL);
  PMIx_Pdata_load(&data, NULL, "key", NULL, PMIX_BOOL);
  EXPECT(!strcmp(data.key, "key") && data.value.type == PMIX_BOOL);
  PMIx_Pdata_xfer(NULL, &data);
  PMIx_Pdata_xfer(&data, NULL);
  PMIx_Pdata_destruct(&data);
}

int main(void) {
  absent();
  objects();
  members();
  arrays();
  values();
  infos();
  info_lists();
  names();
  string_arrays();
  regexes();
  buffers();
  growing();
  compression();
  apps();
  return failures == 0 ? 0 : 1;
}
