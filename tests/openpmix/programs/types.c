/* Puts and gets a value of every data type, and deeply nested arrays. A
 * received value must be packed to the same bytes as the original. */
#include "check.h"

#define DEPTH 20

static pmix_data_array_t *new_array(pmix_data_type_t type, size_t n) {
  pmix_data_array_t *array;
  PMIX_DATA_ARRAY_CREATE(array, n, type);
  return array;
}

/* Returns arrays nested `depth` times, with a number inside. */
static pmix_data_array_t *nest(int depth, uint32_t seed) {
  pmix_data_array_t *array = new_array(PMIX_INFO, 2);
  pmix_info_t *infos = array->array;
  PMIX_INFO_LOAD(&infos[0], "number", &seed, PMIX_UINT32);
  PMIX_LOAD_KEY(infos[1].key, "inside");
  if (depth == 0) {
    infos[1].value.type = PMIX_DATA_ARRAY;
    infos[1].value.data.darray = new_array(PMIX_UINT32, 3);
    for (int i = 0; i < 3; ++i) {
      ((uint32_t *) infos[1].value.data.darray->array)[i] = seed + i;
    }
    return array;
  }
  infos[1].value.type = PMIX_DATA_ARRAY;
  infos[1].value.data.darray = nest(depth - 1, seed + 1);
  return array;
}

static pmix_data_array_t *array_of(pmix_data_type_t type, uint32_t seed) {
  pmix_data_array_t *array = new_array(type, 3);
  for (uint32_t i = 0; i < 3; ++i) {
    char text[32];
    snprintf(text, sizeof text, "text-%u-%u", seed, i);
    switch (type) {
      case PMIX_STRING:
        ((char **) array->array)[i] = strdup(text);
        break;
      case PMIX_PROC:
        PMIX_LOAD_PROCID(&((pmix_proc_t *) array->array)[i], text, seed + i);
        break;
      case PMIX_VALUE:
        PMIX_VALUE_LOAD(&((pmix_value_t *) array->array)[i], text, PMIX_STRING);
        break;
      case PMIX_DOUBLE:
        ((double *) array->array)[i] = seed + i + 0.25;
        break;
      case PMIX_INT64:
        ((int64_t *) array->array)[i] = -((int64_t) seed << 40) - i;
        break;
      case PMIX_BYTE_OBJECT:
        ((pmix_byte_object_t *) array->array)[i].bytes = strdup(text);
        ((pmix_byte_object_t *) array->array)[i].size = strlen(text) + 1;
        break;
      default:
        fail("array of type", type, 0);
    }
  }
  return array;
}

static void integer(pmix_value_t *v, pmix_data_type_t type, uint32_t seed) {
  v->type = type;
  v->data.uint64 = 0;
  switch (type) {
    case PMIX_BOOL: v->data.flag = seed % 2; break;
    case PMIX_SIZE: v->data.size = ((size_t) seed << 33) + 5; break;
    case PMIX_INT64: v->data.int64 = -((int64_t) seed << 33) - 7; break;
    case PMIX_UINT64:
    case PMIX_DEVTYPE:
    case PMIX_STOR_MEDIUM:
    case PMIX_STOR_ACCESS:
    case PMIX_STOR_PERSIST: v->data.uint64 = UINT64_MAX - seed; break;
    case PMIX_INT8: v->data.int8 = -(int8_t) seed - 1; break;
    case PMIX_INT16: v->data.int16 = -(int16_t) seed - 300; break;
    case PMIX_INT:
    case PMIX_INT32:
    case PMIX_STATUS: v->data.int32 = -(int32_t) seed - 70000; break;
    case PMIX_UINT:
    case PMIX_UINT32:
    case PMIX_PROC_RANK: v->data.uint32 = UINT32_MAX - 60 - seed; break;
    case PMIX_PID: v->data.pid = 4000 + seed; break;
    case PMIX_TIME: v->data.time = 1700000000 + seed; break;
    case PMIX_UINT16:
    case PMIX_LOCTYPE:
    case PMIX_STOR_ACCESS_TYPE: v->data.uint16 = 65000 + seed; break;
    default: v->data.byte = seed % 4; break;
  }
}

static const pmix_data_type_t integers[] = {
    PMIX_BOOL, PMIX_BYTE, PMIX_SIZE, PMIX_PID, PMIX_INT, PMIX_INT8, PMIX_INT16,
    PMIX_INT32, PMIX_INT64, PMIX_UINT, PMIX_UINT8, PMIX_UINT16, PMIX_UINT32,
    PMIX_UINT64, PMIX_TIME, PMIX_STATUS, PMIX_PERSIST, PMIX_SCOPE,
    PMIX_DATA_RANGE, PMIX_PROC_STATE, PMIX_PROC_RANK, PMIX_ALLOC_DIRECTIVE,
    PMIX_JOB_STATE, PMIX_LINK_STATE, PMIX_DEVTYPE, PMIX_LOCTYPE};
#define NUM_INTEGERS (sizeof integers / sizeof integers[0])

static const pmix_data_type_t arrays[] = {PMIX_STRING, PMIX_PROC, PMIX_VALUE,
                                          PMIX_DOUBLE, PMIX_INT64,
                                          PMIX_BYTE_OBJECT};
#define NUM_ARRAYS (sizeof arrays / sizeof arrays[0])

/* Makes the other values, by number. Returns 0 if there is no such number. */
static int structured(pmix_value_t *v, int which, uint32_t seed) {
  char text[5000];
  switch (which) {
    case 0:
      v->type = PMIX_STRING;
      snprintf(text, sizeof text, "a string of %u", seed);
      v->data.string = strdup(text);
      return 1;
    case 1: /* long: some libraries compress it */
      v->type = PMIX_STRING;
      memset(text, 'a' + (int) (seed % 20), sizeof text - 1);
      text[sizeof text - 1] = '\0';
      v->data.string = strdup(text);
      return 1;
    case 2:
      v->type = PMIX_STRING;
      v->data.string = strdup("");
      return 1;
    case 3:
      v->type = PMIX_FLOAT;
      v->data.fval = (float) seed + 0.5f;
      return 1;
    case 4:
      v->type = PMIX_DOUBLE;
      v->data.dval = seed - 1000.125;
      return 1;
    case 5:
      v->type = PMIX_TIMEVAL;
      v->data.tv.tv_sec = seed;
      v->data.tv.tv_usec = 999999 - seed;
      return 1;
    case 6:
      v->type = PMIX_PROC;
      PMIX_PROC_CREATE(v->data.proc, 1);
      PMIX_LOAD_PROCID(v->data.proc, "some.namespace", seed);
      return 1;
    case 7:
      v->type = PMIX_BYTE_OBJECT;
      v->data.bo.size = 1000 + seed;
      v->data.bo.bytes = malloc(v->data.bo.size);
      memset(v->data.bo.bytes, (int) seed, v->data.bo.size);
      return 1;
    case 8:
      v->type = PMIX_ENVAR;
      PMIX_ENVAR_LOAD(&v->data.envar, "NAME", "value", ':');
      return 1;
    case 9:
      v->type = PMIX_PROC_INFO;
      PMIX_PROC_INFO_CREATE(v->data.pinfo, 1);
      PMIX_LOAD_PROCID(&v->data.pinfo->proc, "ns", seed);
      v->data.pinfo->hostname = strdup("host");
      v->data.pinfo->executable_name = strdup("program");
      v->data.pinfo->pid = (pid_t) seed + 10;
      v->data.pinfo->state = PMIX_PROC_STATE_RUNNING;
      return 1;
    case 10:
      v->type = PMIX_DATA_ARRAY;
      v->data.darray = nest(DEPTH, seed);
      return 1;
    case 11: { /* no elements */
      v->type = PMIX_DATA_ARRAY;
      v->data.darray = new_array(PMIX_INFO, 0);
      return 1;
    }
    case 12: {
      v->type = PMIX_COORD;
      pmix_coord_t *coord = calloc(1, sizeof *coord);
      coord->view = PMIX_COORD_LOGICAL_VIEW;
      coord->dims = 3;
      coord->coord = calloc(3, sizeof *coord->coord);
      coord->coord[1] = seed;
      v->data.coord = coord;
      return 1;
    }
    case 13: {
      v->type = PMIX_DEVICE_DIST;
      pmix_device_distance_t *d = calloc(1, sizeof *d);
      d->uuid = strdup("uuid");
      d->osname = strdup("eth0");
      d->type = PMIX_DEVTYPE_NETWORK;
      d->mindist = (uint16_t) seed;
      d->maxdist = 9;
      v->data.devdist = d;
      return 1;
    }
    case 14: {
      v->type = PMIX_ENDPOINT;
      pmix_endpoint_t *e = calloc(1, sizeof *e);
      e->uuid = strdup("uuid");
      e->osname = strdup("eth0");
      e->endpt.bytes = strdup("endpoint");
      e->endpt.size = 9;
      v->data.endpoint = e;
      return 1;
    }
    case 15: {
      v->type = PMIX_GEOMETRY;
      pmix_geometry_t *g = calloc(1, sizeof *g);
      g->fabric = seed;
      g->uuid = strdup("uuid");
      g->osname = strdup("eth0");
      g->ncoords = 1;
      g->coordinates = calloc(1, sizeof *g->coordinates);
      g->coordinates[0].view = PMIX_COORD_PHYSICAL_VIEW;
      g->coordinates[0].dims = 2;
      g->coordinates[0].coord = calloc(2, sizeof(uint32_t));
      v->data.geometry = g;
      return 1;
    }
    case 16: {
      v->type = PMIX_COMPRESSED_BYTE_OBJECT;
      v->data.bo.bytes = strdup("not really compressed");
      v->data.bo.size = 22;
      return 1;
    }
    default:
      return 0;
  }
}

static int build(pmix_value_t *v, unsigned which, uint32_t seed) {
  memset(v, 0, sizeof *v);
  if (which < NUM_INTEGERS) {
    integer(v, integers[which], seed);
    return 1;
  }
  which -= NUM_INTEGERS;
  if (which < NUM_ARRAYS) {
    v->type = PMIX_DATA_ARRAY;
    v->data.darray = array_of(arrays[which], seed);
    return 1;
  }
  return structured(v, (int) (which - NUM_ARRAYS), seed);
}

static pmix_byte_object_t packed(pmix_value_t *v) {
  pmix_data_buffer_t *buffer;
  pmix_byte_object_t bytes;
  PMIX_DATA_BUFFER_CREATE(buffer);
  OK(PMIx_Data_pack(NULL, buffer, v, 1, PMIX_VALUE));
  PMIX_DATA_BUFFER_UNLOAD(buffer, bytes.bytes, bytes.size);
  return bytes;
}

static void compare(pmix_rank_t rank, unsigned which, pmix_value_t *got) {
  pmix_value_t wanted;
  char what[64];
  TRUE_(build(&wanted, which, rank));
  snprintf(what, sizeof what, "value %u of type %d of rank %u", which,
           wanted.type, rank);
  if (got->type != wanted.type) fail(what, got->type, wanted.type);
  pmix_byte_object_t a = packed(&wanted);
  pmix_byte_object_t b = packed(got);
  if (a.size != b.size || memcmp(a.bytes, b.bytes, a.size) != 0) {
    fail(what, 1, 0);
  }
}

int main(int argc, char **argv) {
  char key[64];
  pmix_value_t value;
  unsigned count = 0;
  begin(argc, argv);
  /* An older codec knows fewer types. */
  const pmix_data_type_t last = argc > 2 ? atoi(argv[2]) : UINT16_MAX;
  for (; build(&value, count, me.rank); ++count) {
    if (value.type > last) continue;
    snprintf(key, sizeof key, "value.%u", count);
    OK(PMIx_Put(PMIX_GLOBAL, key, &value));
  }
  OK(PMIx_Commit());
  fence(1);
  for (uint32_t r = 0; r < job_size; ++r) {
    for (unsigned i = 0; i < count; ++i) {
      if (build(&value, i, r) && value.type > last) continue;
      snprintf(key, sizeof key, "value.%u", i);
      compare(r, i, get(r, key));
    }
  }
  fence(0);
  return end("types");
}
