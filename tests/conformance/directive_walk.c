// Checks GEN-10, GEN-11 and QRY-11 together: calls every function that takes
// directives with every attribute of the tables. A required attribute that the
// answer to PMIX_QUERY_ATTRIBUTE_SUPPORT does not list for the function makes
// the call fail with PMIX_ERR_NOT_SUPPORTED or PMIX_ERR_BAD_PARAM, so that no
// function succeeds without the effect of a required attribute. Word: the table
// of attributes.
#include <errno.h>
#include <pmix_tool.h>

#include "check.h"

#define MAX_KEYS 1024

typedef struct {
  char key[PMIX_MAX_KEYLEN + 1];
  pmix_data_type_t type;
} Attribute;

typedef struct {
  Attribute list[MAX_KEYS];
  size_t count;
} Attributes;

typedef pmix_status_t (*Call)(pmix_info_t *directive);

static const Attribute *Find(const Attributes *all, const char *key) {
  for (size_t i = 0; i < all->count; ++i) {
    if (strcmp(all->list[i].key, key) == 0) return &all->list[i];
  }
  return NULL;
}

static void Add(Attributes *all, const char *key, pmix_data_type_t type) {
  if (Find(all, key) != NULL) return;
  CHECK(all->count < MAX_KEYS, "more than %d attributes", MAX_KEYS);
  Attribute *one = &all->list[all->count++];
  strncpy(one->key, key, PMIX_MAX_KEYLEN);
  one->type = type;
}

// Reads lines of a name, a key and a C type. Environment variables are not
// attributes.
static void ReadTable(Attributes *all, const char *path) {
  FILE *file = fopen(path, "r");
  CHECK(file != NULL, "%s: %s", path, strerror(errno));
  char line[4096], key[512], type[64];
  while (fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, "PMIX_%*s %511s %63s", key, type) != 2) continue;
    if (strcmp(type, "envvar") == 0) continue;
    Add(all, key,
        strcmp(type, "bool") == 0    ? PMIX_BOOL
        : strcmp(type, "char*") == 0 ? PMIX_STRING
                                     : PMIX_UINT32);
  }
  fclose(file);
}

// Adds the attributes that a function supports at a level.
static void AddLevel(Attributes *all, char *function, const char *level) {
  char *keys[] = {PMIX_QUERY_ATTRIBUTE_SUPPORT, function, NULL};
  Directives only = Flag(level);
  pmix_query_t query = {
      .keys = keys, .qualifiers = only.info, .nqual = only.count};
  pmix_info_t *results = NULL;
  size_t nresults = 0;
  const pmix_status_t status = PMIx_Query_info(&query, 1, &results, &nresults);
  if (status == PMIX_ERR_NOT_FOUND) return;
  OK(status);
  const pmix_info_t *answer = results[0].value.data.darray->array;
  const pmix_data_array_t *attributes = answer->value.data.darray;
  for (size_t i = 0; i < attributes->size; ++i) {
    const pmix_regattr_t *one = (pmix_regattr_t *)attributes->array + i;
    Add(all, one->string, one->type);
  }
  PMIX_INFO_FREE(results, nresults);
}

static void AddSupported(Attributes *all, char *function) {
  AddLevel(all, function, PMIX_CLIENT_ATTRIBUTES);
  AddLevel(all, function, PMIX_HOST_ATTRIBUTES);
}

static pmix_status_t Fence(pmix_info_t *info) {
  return PMIx_Fence(&g_self, 1, info, 1);
}

static pmix_status_t Connect(pmix_info_t *info) {
  return PMIx_Connect(&g_self, 1, info, 1);
}

static pmix_status_t Disconnect(pmix_info_t *info) {
  return PMIx_Disconnect(&g_self, 1, info, 1);
}

static pmix_status_t Get(pmix_info_t *info) {
  pmix_value_t *value = NULL;
  const pmix_status_t status = PMIx_Get(&g_job, PMIX_JOB_SIZE, info, 1, &value);
  if (value != NULL) PMIX_VALUE_RELEASE(value);
  return status;
}

static pmix_status_t Publish(pmix_info_t *info) {
  Directives data = {.count = 0};
  AddU32(&data, "walked", 1);
  data.info[data.count++] = *info;
  return PMIx_Publish(data.info, data.count);
}

static pmix_status_t Lookup(pmix_info_t *info) {
  pmix_pdata_t data;
  PMIX_PDATA_CONSTRUCT(&data);
  strcpy(data.key, "found");
  const pmix_status_t status = PMIx_Lookup(&data, 1, info, 1);
  PMIX_PDATA_DESTRUCT(&data);
  return status;
}

static pmix_status_t Unpublish(pmix_info_t *info) {
  char *keys[] = {"nobody.has.it", NULL};
  return PMIx_Unpublish(keys, info, 1);
}

static pmix_status_t Construct(pmix_info_t *info) {
  return PMIx_Group_construct("walked", &g_self, 1, info, 1, NULL, NULL);
}

static pmix_status_t Control(pmix_info_t *info) {
  Directives with = Flag(PMIX_JOB_CTRL_RESUME);
  with.info[with.count++] = *info;
  return PMIx_Job_control(&g_self, 1, with.info, with.count, NULL, NULL);
}

static pmix_status_t Log(pmix_info_t *info) {
  Directives data = {.count = 0};
  AddText(&data, PMIX_LOG_STDERR, "");
  return PMIx_Log(data.info, 1, info, 1);
}

static pmix_status_t Credential(pmix_info_t *info) {
  pmix_byte_object_t credential = {NULL, 0};
  const pmix_status_t status = PMIx_Get_credential(info, 1, &credential);
  free(credential.bytes);
  return status;
}

static pmix_status_t Notify(pmix_info_t *info) {
  return PMIx_Notify_event(PMIX_ERR_TIMEOUT, NULL, PMIX_RANGE_PROC_LOCAL, info,
                           1, NULL, NULL);
}

static pmix_status_t Push(pmix_info_t *info) {
  char text[] = "text";
  pmix_byte_object_t bytes = {text, sizeof(text)};
  return PMIx_IOF_push(&g_self, 1, &bytes, info, 1, NULL, NULL);
}

static pmix_status_t Validate(pmix_info_t *info) {
  pmix_byte_object_t credential = {NULL, 0};
  OK(PMIx_Get_credential(NULL, 0, &credential));
  pmix_info_t *results = NULL;
  size_t nresults = 0;
  const pmix_status_t status =
      PMIx_Validate_credential(&credential, info, 1, &results, &nresults);
  free(credential.bytes);
  return status;
}

static pmix_status_t Monitor(pmix_info_t *info) {
  const Directives what = Flag(PMIX_MONITOR_HEARTBEAT);
  Directives with = {.count = 0};
  AddU32(&with, PMIX_MONITOR_HEARTBEAT_TIME, 600);
  with.info[with.count++] = *info;
  return PMIx_Process_monitor(what.info, PMIX_MONITOR_HEARTBEAT_ALERT,
                              with.info, with.count, NULL, NULL);
}

// Makes a query of data, and a query that only agents answer.
static pmix_status_t Query(pmix_info_t *info) {
  char *data[] = {PMIX_JOB_SIZE, NULL};
  char *jobs[] = {PMIX_QUERY_NAMESPACES, NULL};
  char **const keys[] = {data, jobs};
  pmix_status_t status = PMIX_SUCCESS;
  for (int i = 0; i < 2; ++i) {
    pmix_query_t query = {.keys = keys[i], .qualifiers = info, .nqual = 1};
    pmix_info_t *results = NULL;
    size_t nresults = 0;
    status = PMIx_Query_info(&query, 1, &results, &nresults);
    if (results != NULL) PMIX_INFO_FREE(results, nresults);
    if (status == PMIX_SUCCESS) return status;
  }
  return status;
}

static pmix_status_t Spawn(pmix_info_t *info) {
  char *argv[] = {(char *)"/bin/true", NULL};
  pmix_app_t app;
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = argv[0];
  app.argv = argv;
  app.maxprocs = 1;
  const pmix_status_t status = PMIx_Spawn(info, 1, &app, 1, NULL);
  if (status == PMIX_SUCCESS) return status;
  app.info = info;
  app.ninfo = 1;
  return PMIx_Spawn(NULL, 0, &app, 1, NULL);
}

// Destructs a group that exists and has only this process.
static pmix_status_t Destruct(pmix_info_t *info) {
  return PMIx_Group_destruct("own", info, 1);
}

static pmix_status_t Leave(pmix_info_t *info) {
  return PMIx_Group_leave("own", info, 1);
}

static pmix_status_t Join(pmix_info_t *info) {
  pmix_info_t *results = NULL;
  size_t nresults = 0;
  return PMIx_Group_join("invited", &g_self, PMIX_GROUP_ACCEPT, info, 1,
                         &results, &nresults);
}

static void Handle(size_t id, pmix_status_t status, const pmix_proc_t *source,
                   pmix_info_t info[], size_t ninfo, pmix_info_t *results,
                   size_t nresults, pmix_event_notification_cbfunc_fn_t cbfunc,
                   void *cbdata) {
  (void)id, (void)status, (void)source, (void)info, (void)ninfo;
  (void)results, (void)nresults;
  cbfunc(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

// Registers a handler. Without a callback the call returns a reference or an
// error.
static pmix_status_t Register(pmix_info_t *info) {
  pmix_status_t code = PMIX_ERR_TIMEOUT;
  const pmix_status_t got =
      PMIx_Register_event_handler(&code, 1, info, 1, Handle, NULL, NULL);
  return got < 0 ? got : PMIX_SUCCESS;
}

static pmix_status_t Distances(pmix_info_t *info) {
  pmix_topology_t topology = {NULL, NULL};
  OK(PMIx_Load_topology(&topology));
  pmix_cpuset_t cpuset = {NULL, NULL};
  OK(PMIx_Get_cpuset(&cpuset, PMIX_CPUBIND_PROCESS));
  pmix_device_distance_t *distances = NULL;
  size_t count = 0;
  const pmix_status_t status =
      PMIx_Compute_distances(&topology, &cpuset, info, 1, &distances, &count);
  PMIx_Cpuset_destruct(&cpuset);
  PMIx_Topology_destruct(&topology);
  return status;
}

typedef struct {
  char *name;
  Call call;
} Function;

static const Function kFunctions[] = {
    {"PMIx_Fence", Fence},
    {"PMIx_Connect", Connect},
    {"PMIx_Disconnect", Disconnect},
    {"PMIx_Get", Get},
    {"PMIx_Publish", Publish},
    {"PMIx_Lookup", Lookup},
    {"PMIx_Unpublish", Unpublish},
    {"PMIx_Group_construct", Construct},
    {"PMIx_Job_control", Control},
    {"PMIx_Log", Log},
    {"PMIx_Get_credential", Credential},
    {"PMIx_Notify_event", Notify},
    {"PMIx_IOF_push", Push},
    {"PMIx_Validate_credential", Validate},
    {"PMIx_Process_monitor", Monitor},
    {"PMIx_Query_info", Query},
    {"PMIx_Spawn", Spawn},
    {"PMIx_Group_destruct", Destruct},
    {"PMIx_Group_leave", Leave},
    {"PMIx_Group_join", Join},
    {"PMIx_Register_event_handler", Register},
    {"PMIx_Compute_distances", Distances},
};
#define NUM_FUNCTIONS (sizeof(kFunctions) / sizeof(kFunctions[0]))

// Returns a number or flag. For other types, returns a text, which is malformed
// for most attributes.
static pmix_info_t Sample(const Attribute *attribute) {
  Directives list = {.count = 0};
  if (attribute->type == PMIX_BOOL) {
    AddFlag(&list, attribute->key, true);
  } else if (attribute->type == PMIX_STRING) {
    AddText(&list, attribute->key, "text");
  } else {
    AddU32(&list, attribute->key, 1);
  }
  PMIX_INFO_REQUIRED(&list.info[0]);
  return list.info[0];
}

// Returns true for the caller's statements about its user and group, which
// libraries pass with many calls.
static bool IsOwner(const Attribute *attribute) {
  return strcmp(attribute->key, PMIX_USERID) == 0 ||
         strcmp(attribute->key, PMIX_GRPID) == 0;
}

// The Standard lists no attribute of PMIx_Group_leave; Canopy honours a time
// limit.
static bool IsLimitOfLeave(const Function *function,
                           const Attribute *attribute) {
  return function->call == Leave && strcmp(attribute->key, PMIX_TIMEOUT) == 0;
}

static void Walk(const Function *function, const Attributes *all) {
  static Attributes mine;
  mine.count = 0;
  AddSupported(&mine, function->name);
  CHECK(mine.count > 0 || function->call == Leave, "%s supports nothing",
        function->name);
  for (size_t i = 0; i < all->count; ++i) {
    const Attribute *attribute = &all->list[i];
    if (Find(&mine, attribute->key) != NULL || IsOwner(attribute) ||
        IsLimitOfLeave(function, attribute)) {
      continue;
    }
    pmix_info_t directive = Sample(attribute);
    const pmix_status_t status = function->call(&directive);
    CHECK(status == PMIX_ERR_NOT_SUPPORTED || status == PMIX_ERR_BAD_PARAM,
          "%s ignores %s, which is required: %s", function->name,
          attribute->key, PMIx_Error_string(status));
  }
}

int main(int argc, char **argv) {
  Start(argc, argv);
  CHECK(argc > 3, "no table");
  if (g_self.rank == 0) {
    static Attributes all;
    ReadTable(&all, argv[3]);
    CHECK(all.count > 500, "%zu attributes", all.count);
    Directives data = {.count = 0};
    AddU32(&data, "found", 1);
    OK(PMIx_Publish(data.info, data.count));
    OK(PMIx_Group_construct("own", &g_self, 1, NULL, 0, NULL, NULL));
    for (size_t i = 0; i < NUM_FUNCTIONS; ++i) Walk(&kFunctions[i], &all);
  }
  Barrier();
  return Finish();
}
