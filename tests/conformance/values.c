// Put, Commit and Get of every data type, of arrays and of nested arrays. Each
// rank must see exactly the data that each other rank put, after a fence that
// collects, by direct modex, and as its own.
#include <math.h>

#include "show.h"

typedef struct {
  const char *name;
  void (*make)(pmix_value_t *value, uint32_t seed);
} Kind;

// The storage of values is never freed: the program is short.
static void *New(size_t count, size_t size) {
  void *memory = calloc(count, size);
  CHECK(memory != NULL, "no memory");
  return memory;
}

static char *Words(uint32_t seed, const char *word) {
  char *text = New(64, 1);
  snprintf(text, 64, "%s of %u", word, seed);
  return text;
}

static pmix_byte_object_t SomeBytes(uint32_t seed, size_t size) {
  pmix_byte_object_t bytes = {New(size, 1), size};
  for (size_t i = 0; i < size; ++i) bytes.bytes[i] = (char)(seed * 31 + i);
  return bytes;
}

static pmix_proc_t SomeProc(uint32_t seed) {
  pmix_proc_t proc;
  PMIX_PROC_LOAD(&proc, g_self.nspace, seed);
  return proc;
}

// --------------------------------------------------------------- scalars ---

#define SCALAR(Name, TYPE, member, expression)           \
  static void Name(pmix_value_t *value, uint32_t seed) { \
    value->type = TYPE;                                  \
    value->data.member = (expression);                   \
    (void)seed;                                          \
  }

SCALAR(MakeBool, PMIX_BOOL, flag, seed % 2 == 1)
SCALAR(MakeByte, PMIX_BYTE, byte, (uint8_t)(250 + seed))
SCALAR(MakeString, PMIX_STRING, string, Words(seed, "text"))
SCALAR(MakeEmpty, PMIX_STRING, string, (char *)New(1, 1))
SCALAR(MakeSize, PMIX_SIZE, size, SIZE_MAX - seed)
SCALAR(MakePid, PMIX_PID, pid, (pid_t)(70000 + seed))
SCALAR(MakeInt, PMIX_INT, integer, INT32_MIN + (int)seed)
SCALAR(MakeInt8, PMIX_INT8, int8, (int8_t)(-128 + (int)seed))
SCALAR(MakeInt16, PMIX_INT16, int16, (int16_t)(-32768 + (int)seed))
SCALAR(MakeInt32, PMIX_INT32, int32, INT32_MAX - (int32_t)seed)
SCALAR(MakeInt64, PMIX_INT64, int64, INT64_MIN + seed)
SCALAR(MakeUint, PMIX_UINT, uint, UINT32_MAX - seed)
SCALAR(MakeUint8, PMIX_UINT8, uint8, (uint8_t)(255 - seed))
SCALAR(MakeUint16, PMIX_UINT16, uint16, (uint16_t)(65535 - seed))
SCALAR(MakeUint32, PMIX_UINT32, uint32, 4000000000u + seed)
SCALAR(MakeUint64, PMIX_UINT64, uint64, UINT64_MAX - seed)
SCALAR(MakeFloat, PMIX_FLOAT, fval, 1.0f / (3.0f + (float)seed))
SCALAR(MakeTinyFloat, PMIX_FLOAT, fval, 1e-38f / (3.0f + (float)seed))
SCALAR(MakeDouble, PMIX_DOUBLE, dval, -1.0 / (7.0 + seed))
SCALAR(MakeHuge, PMIX_DOUBLE, dval, 1.7e308 / (1.0 + seed))
SCALAR(MakeInfinite, PMIX_DOUBLE, dval, HUGE_VAL)
SCALAR(MakeTime, PMIX_TIME, time, 1700000000 + (time_t)seed)
SCALAR(MakeStatus, PMIX_STATUS, status, PMIX_ERR_TIMEOUT - (int)seed)
SCALAR(MakeRank, PMIX_PROC_RANK, rank, seed)
SCALAR(MakeUndefRank, PMIX_PROC_RANK, rank, PMIX_RANK_WILDCARD)
SCALAR(MakePersist, PMIX_PERSIST, persist, PMIX_PERSIST_SESSION)
SCALAR(MakeScope, PMIX_SCOPE, scope, PMIX_REMOTE)
SCALAR(MakeRange, PMIX_DATA_RANGE, range, PMIX_RANGE_NAMESPACE)
SCALAR(MakeState, PMIX_PROC_STATE, state, PMIX_PROC_STATE_RUNNING)
SCALAR(MakeDirective, PMIX_ALLOC_DIRECTIVE, adir, PMIX_ALLOC_EXTEND)
SCALAR(MakeJobState, PMIX_JOB_STATE, jstate, (pmix_job_state_t)seed)
SCALAR(MakeLinkState, PMIX_LINK_STATE, linkstate, PMIX_LINK_UP)
SCALAR(MakeDevtype, PMIX_DEVTYPE, devtype, PMIX_DEVTYPE_GPU)
SCALAR(MakeLoctype, PMIX_LOCTYPE, locality, (pmix_locality_t)(3 + seed))
SCALAR(MakeBytes, PMIX_BYTE_OBJECT, bo, SomeBytes(seed, 17 + seed))
SCALAR(MakeNoBytes, PMIX_BYTE_OBJECT, bo, ((pmix_byte_object_t){NULL, 0}))
SCALAR(MakeCompressed, PMIX_COMPRESSED_BYTE_OBJECT, bo, SomeBytes(seed, 5))

static void MakeTimeval(pmix_value_t *value, uint32_t seed) {
  value->type = PMIX_TIMEVAL;
  value->data.tv.tv_sec = 1700000000 + (time_t)seed;
  value->data.tv.tv_usec = 999999 - (int)seed;
}

static void MakeEnvar(pmix_value_t *value, uint32_t seed) {
  value->type = PMIX_ENVAR;
  value->data.envar.envar = Words(seed, "NAME");
  value->data.envar.value = Words(seed, "value");
  value->data.envar.separator = ':';
}

// ------------------------------------------------------------ structures ---

static void FillProcInfo(pmix_proc_info_t *info, uint32_t seed) {
  info->proc = SomeProc(seed);
  info->hostname = Words(seed, "host");
  info->executable_name = Words(seed, "program");
  info->pid = (pid_t)(1000 + seed);
  info->exit_code = 0;  // missing in the common wire form
  info->state = PMIX_PROC_STATE_TERMINATED;
}

static void FillCoord(pmix_coord_t *coord, uint32_t seed) {
  coord->view = PMIX_COORD_PHYSICAL_VIEW;
  coord->dims = 3;
  coord->coord = New(3, sizeof(uint32_t));
  for (uint32_t i = 0; i < 3; ++i) coord->coord[i] = seed * 10 + i;
}

static void FillGeometry(pmix_geometry_t *geometry, uint32_t seed) {
  geometry->fabric = seed;
  geometry->uuid = Words(seed, "uuid");
  geometry->osname = Words(seed, "device");
  geometry->ncoords = 2;
  geometry->coordinates = New(2, sizeof(pmix_coord_t));
  FillCoord(&geometry->coordinates[0], seed);
  FillCoord(&geometry->coordinates[1], seed + 1);
}

static void FillDistance(pmix_device_distance_t *distance, uint32_t seed) {
  distance->uuid = Words(seed, "uuid");
  distance->osname = Words(seed, "device");
  distance->type = PMIX_DEVTYPE_NETWORK;
  distance->mindist = (uint16_t)seed;
  distance->maxdist = (uint16_t)(seed + 9);
}

static void FillEndpoint(pmix_endpoint_t *endpoint, uint32_t seed) {
  endpoint->uuid = Words(seed, "uuid");
  endpoint->osname = Words(seed, "device");
  endpoint->endpt = SomeBytes(seed, 12);
}

// Fills all members but the two that the common wire form lacks.
static void FillStats(pmix_proc_stats_t *stats, uint32_t seed) {
  stats->node = Words(seed, "node");
  stats->proc = SomeProc(seed);
  stats->pid = (pid_t)(10 + seed);
  stats->cmd = Words(seed, "command");
  stats->state = 'R';
  stats->time.tv_sec = 5;
  stats->priority = -3;
  stats->num_threads = 7;
  stats->pss = 1.25f;
  stats->vsize = 2.5f;
  stats->rss = 3.75f;
  stats->processor = 6;
  stats->sample_time.tv_usec = 77;
}

#define STRUCTURE(Name, TYPE, member, ctype, Fill)       \
  static void Name(pmix_value_t *value, uint32_t seed) { \
    value->type = TYPE;                                  \
    value->data.member = New(1, sizeof(ctype));          \
    Fill(value->data.member, seed);                      \
  }

static void FillProc(pmix_proc_t *proc, uint32_t seed) {
  *proc = SomeProc(seed);
}
static void FillNspace(pmix_nspace_t *nspace, uint32_t seed) {
  (void)seed;
  memset(*nspace, 'n', PMIX_MAX_NSLEN);
}

STRUCTURE(MakeProc, PMIX_PROC, proc, pmix_proc_t, FillProc)
STRUCTURE(MakeNspace, PMIX_PROC_NSPACE, nspace, pmix_nspace_t, FillNspace)
STRUCTURE(MakeProcInfo, PMIX_PROC_INFO, pinfo, pmix_proc_info_t, FillProcInfo)
STRUCTURE(MakeCoord, PMIX_COORD, coord, pmix_coord_t, FillCoord)
STRUCTURE(MakeGeometry, PMIX_GEOMETRY, geometry, pmix_geometry_t, FillGeometry)
STRUCTURE(MakeDistance, PMIX_DEVICE_DIST, devdist, pmix_device_distance_t,
          FillDistance)
STRUCTURE(MakeEndpoint, PMIX_ENDPOINT, endpoint, pmix_endpoint_t, FillEndpoint)
STRUCTURE(MakeStats, PMIX_PROC_STATS, pstats, pmix_proc_stats_t, FillStats)

// ---------------------------------------------------------------- arrays ---

static void *NewArray(pmix_value_t *value, pmix_data_type_t type, size_t count,
                      size_t size) {
  value->type = PMIX_DATA_ARRAY;
  value->data.darray = New(1, sizeof(pmix_data_array_t));
  value->data.darray->type = type;
  value->data.darray->size = count;
  value->data.darray->array = count == 0 ? NULL : New(count, size);
  return value->data.darray->array;
}

#define ARRAY(Name, TYPE, ctype, count, statement)              \
  static void Name(pmix_value_t *value, uint32_t seed) {        \
    ctype *array = NewArray(value, TYPE, count, sizeof(ctype)); \
    for (uint32_t i = 0; i < (count); ++i) {                    \
      statement;                                                \
    }                                                           \
    (void)seed;                                                 \
  }

ARRAY(MakeBools, PMIX_BOOL, bool, 5, array[i] = (seed + i) % 3 == 0)
ARRAY(MakeInt8s, PMIX_INT8, int8_t, 7, array[i] = (int8_t)(-(int)(seed + i)))
ARRAY(MakeUint16s, PMIX_UINT16, uint16_t, 9, array[i] = (uint16_t)(seed * i))
ARRAY(MakeUint32s, PMIX_UINT32, uint32_t, 300, array[i] = seed * 1000 + i)
ARRAY(MakeInt64s, PMIX_INT64, int64_t, 4, array[i] = INT64_MIN + seed + i)
ARRAY(MakeSizes, PMIX_SIZE, size_t, 3, array[i] = SIZE_MAX - seed - i)
ARRAY(MakeDoubles, PMIX_DOUBLE, double, 8, array[i] = 1.0 / (seed + i + 1))
ARRAY(MakeFloats, PMIX_FLOAT, float, 8, array[i] = 1.0f / (float)(seed + i + 1))
ARRAY(MakeStrings, PMIX_STRING, char *, 6, array[i] = Words(seed + i, "item"))
ARRAY(MakeProcs, PMIX_PROC, pmix_proc_t, 5, array[i] = SomeProc(seed + i))
ARRAY(MakeRanks, PMIX_PROC_RANK, pmix_rank_t, 5, array[i] = seed + i)
ARRAY(MakeObjects, PMIX_BYTE_OBJECT, pmix_byte_object_t, 4,
      array[i] = SomeBytes(seed + i, i * 100))
ARRAY(MakeProcInfos, PMIX_PROC_INFO, pmix_proc_info_t, 3,
      FillProcInfo(&array[i], seed + i))
ARRAY(MakeCoords, PMIX_COORD, pmix_coord_t, 3, FillCoord(&array[i], seed + i))
ARRAY(MakeGeometries, PMIX_GEOMETRY, pmix_geometry_t, 2,
      FillGeometry(&array[i], seed + i))
ARRAY(MakeDistances, PMIX_DEVICE_DIST, pmix_device_distance_t, 3,
      FillDistance(&array[i], seed + i))
ARRAY(MakeEndpoints, PMIX_ENDPOINT, pmix_endpoint_t, 3,
      FillEndpoint(&array[i], seed + i))
ARRAY(MakeTimes, PMIX_TIMEVAL, struct timeval, 2, array[i].tv_sec = seed + i)

static void FillRegattr(pmix_regattr_t *attribute, uint32_t seed) {
  attribute->name = Words(seed, "NAME");
  snprintf(attribute->string, sizeof(attribute->string), "key.%u", seed);
  attribute->type = PMIX_UINT32;
  attribute->description = New(3, sizeof(char *));
  attribute->description[0] = Words(seed, "first line");
  attribute->description[1] = Words(seed, "second line");
}
ARRAY(MakeRegattrs, PMIX_REGATTR, pmix_regattr_t, 3,
      FillRegattr(&array[i], seed + i))

static void FillEnvar(pmix_envar_t *envar, uint32_t seed) {
  envar->envar = Words(seed, "NAME");
  envar->value = Words(seed, "value");
  envar->separator = ';';
}
ARRAY(MakeEnvars, PMIX_ENVAR, pmix_envar_t, 2, FillEnvar(&array[i], seed + i))

static void MakeNothing(pmix_value_t *value, uint32_t seed) {
  (void)seed;
  (void)NewArray(value, PMIX_INFO, 0, sizeof(pmix_info_t));
}

// Makes an array of infos of which one holds an array of infos, and so on.
static void MakeNested(pmix_value_t *value, uint32_t seed, uint32_t depth) {
  pmix_info_t *array = NewArray(value, PMIX_INFO, 3, sizeof(pmix_info_t));
  strcpy(array[0].key, "nested.number");
  MakeUint64(&array[0].value, seed + depth);
  strcpy(array[1].key, "nested.text");
  MakeString(&array[1].value, seed + depth);
  strcpy(array[2].key, "nested.deeper");
  if (depth == 0) {
    MakeProcs(&array[2].value, seed);
  } else {
    MakeNested(&array[2].value, seed, depth - 1);
  }
}
static void MakeInfos(pmix_value_t *value, uint32_t seed) {
  MakeNested(value, seed, 5);
}

static void MakeValues(pmix_value_t *value, uint32_t seed) {
  pmix_value_t *array = NewArray(value, PMIX_VALUE, 4, sizeof(pmix_value_t));
  MakeTimeval(&array[0], seed);
  MakeNested(&array[1], seed, 1);
  MakeBytes(&array[2], seed);
  MakeGeometry(&array[3], seed);
}

static void MakeArrays(pmix_value_t *value, uint32_t seed) {
  pmix_data_array_t *array =
      NewArray(value, PMIX_DATA_ARRAY, 2, sizeof(pmix_data_array_t));
  pmix_value_t inner = {.type = PMIX_UNDEF};
  MakeStrings(&inner, seed);
  array[0] = *inner.data.darray;
  MakeUint32s(&inner, seed);
  array[1] = *inner.data.darray;
}

#define KIND(name) \
  { #name, Make##name }
static const Kind kKinds[] = {
    KIND(Bool),       KIND(Byte),       KIND(String),    KIND(Empty),
    KIND(Size),       KIND(Pid),        KIND(Int),       KIND(Int8),
    KIND(Int16),      KIND(Int32),      KIND(Int64),     KIND(Uint),
    KIND(Uint8),      KIND(Uint16),     KIND(Uint32),    KIND(Uint64),
    KIND(Float),      KIND(TinyFloat),  KIND(Double),    KIND(Huge),
    KIND(Infinite),   KIND(Time),       KIND(Status),    KIND(Rank),
    KIND(UndefRank),  KIND(Persist),    KIND(Scope),     KIND(Range),
    KIND(State),      KIND(Directive),  KIND(JobState),  KIND(LinkState),
    KIND(Devtype),    KIND(Loctype),    KIND(Bytes),     KIND(NoBytes),
    KIND(Compressed), KIND(Timeval),    KIND(Envar),     KIND(Proc),
    KIND(Nspace),     KIND(ProcInfo),   KIND(Coord),     KIND(Geometry),
    KIND(Distance),   KIND(Endpoint),   KIND(Stats),     KIND(Bools),
    KIND(Int8s),      KIND(Uint16s),    KIND(Uint32s),   KIND(Int64s),
    KIND(Sizes),      KIND(Doubles),    KIND(Floats),    KIND(Strings),
    KIND(Procs),      KIND(Ranks),      KIND(Objects),   KIND(ProcInfos),
    KIND(Coords),     KIND(Geometries), KIND(Distances), KIND(Endpoints),
    KIND(Times),      KIND(Regattrs),   KIND(Envars),    KIND(Nothing),
    KIND(Infos),      KIND(Values),     KIND(Arrays),
};
static const size_t kCount = sizeof(kKinds) / sizeof(*kKinds);

static pmix_value_t Make(const Kind *kind, uint32_t seed) {
  pmix_value_t value;
  memset(&value, 0, sizeof(value));
  kind->make(&value, seed);
  return value;
}

static void KeyFor(char *key, const char *round, const Kind *kind) {
  snprintf(key, PMIX_MAX_KEYLEN + 1, "%s.%s", round, kind->name);
}

static void PutAll(const char *round) {
  for (size_t i = 0; i < kCount; ++i) {
    char key[PMIX_MAX_KEYLEN + 1];
    KeyFor(key, round, &kKinds[i]);
    pmix_value_t value = Make(&kKinds[i], g_self.rank);
    EXPECT(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, key, &value));
  }
  OK(PMIx_Commit());
}

static void GetAll(const char *round, pmix_rank_t rank) {
  const pmix_proc_t peer = ProcOf(rank);
  for (size_t i = 0; i < kCount; ++i) {
    char key[PMIX_MAX_KEYLEN + 1];
    KeyFor(key, round, &kKinds[i]);
    const pmix_value_t want = Make(&kKinds[i], rank);
    pmix_value_t *got = MustGet(&peer, key, NULL, want.type);
    MustEqual(key, got, &want);
    PMIX_VALUE_RELEASE(got);
  }
}

// Stores values of every type about another process, and gets them back.
static void OwnCache(void) {
  const pmix_proc_t peer = ProcOf((g_self.rank + 1) % g_size);
  for (size_t i = 0; i < kCount; ++i) {
    char key[PMIX_MAX_KEYLEN + 1];
    KeyFor(key, "internal", &kKinds[i]);
    pmix_value_t value = Make(&kKinds[i], g_self.rank);
    OK(PMIx_Store_internal(&peer, key, &value));
    pmix_value_t *got = MustGet(&peer, key, NULL, value.type);
    MustEqual(key, got, &value);
    PMIX_VALUE_RELEASE(got);
  }
}

int main(int argc, char **argv) {
  Start(argc, argv);
  PutAll("fence");
  GetAll("fence", g_self.rank);
  FenceCollect();
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) GetAll("fence", rank);
  OwnCache();
  // There is no fence: the gets wait for the commits.
  PutAll("direct");
  GetAll("direct", (g_self.rank + 1) % g_size);
  GetAll("direct", (g_self.rank + g_size - 1) % g_size);
  Barrier();
  return Finish();
}
