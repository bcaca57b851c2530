// Each attribute of PMIx_Spawn and PMIx_Spawn_nb, marked as required: it is
// honoured, or the call returns that it is not supported. One call has it at
// job level, the other in the application's infos. A query of the host's
// support must list the honoured attributes and no others. Word: a directory
// for files.
#include "children.h"

typedef struct {
  const char *name;
  const char *key;
  pmix_data_type_t type;
  const void *value;
  pmix_status_t want;
  bool needs_more;  // honoured only together with others
} Attribute;

#define ROW(attribute, type, value, want) \
  { #attribute, attribute, type, value, want, false }
#define WITH_OTHERS(attribute, type, value, want) \
  { #attribute, attribute, type, value, want, true }
#define YES(attribute, want) \
  { #attribute, attribute, PMIX_BOOL, &kYes, want, false }

static const bool kYes = true;
// The value of attributes that need resources which may not exist.
static const bool kNo = false;
static const uint32_t kOne = 1;
static const uint32_t kRank = 0;
static const uint64_t kMany = 1;
static const size_t kSize = 1;
static const float kFloat = 1.0f;
static const int kSeconds = 60;
static const uint16_t kShort = 1;
static const pmix_envar_t kEnvar = {(char *)"CONFORMANCE", (char *)"x", ':'};
static char g_host[300];
static char g_hostfile[4200];
static char g_output[4200];
static pmix_data_array_t g_directives;

static const Attribute kAttributes[] = {
    // A host must honour these.
    ROW(PMIX_WDIR, PMIX_STRING, "/", PMIX_SUCCESS),
    YES(PMIX_SET_SESSION_CWD, PMIX_SUCCESS),
    ROW(PMIX_PREFIX, PMIX_STRING, "/bin", PMIX_SUCCESS),
    ROW(PMIX_HOST, PMIX_STRING, g_host, PMIX_SUCCESS),
    ROW(PMIX_HOSTFILE, PMIX_STRING, g_hostfile, PMIX_SUCCESS),
    // The location of the processes and their files.
    ROW(PMIX_ADD_HOST, PMIX_STRING, g_host, PMIX_SUCCESS),
    ROW(PMIX_ADD_HOSTFILE, PMIX_STRING, g_hostfile, PMIX_SUCCESS),
    YES(PMIX_PRELOAD_BIN, PMIX_SUCCESS),
    ROW(PMIX_PRELOAD_FILES, PMIX_STRING, "/etc/passwd", PMIX_SUCCESS),
    ROW(PMIX_PERSONALITY, PMIX_STRING, "ompi", PMIX_SUCCESS),
#ifdef PMIX_FWD_ENVIRONMENT
    YES(PMIX_FWD_ENVIRONMENT, PMIX_SUCCESS),
#endif
    YES(PMIX_NON_PMI, PMIX_SUCCESS),
    YES(PMIX_WDIR_USER_SPECIFIED, PMIX_SUCCESS),
    YES(PMIX_DISPLAY_MAP, PMIX_SUCCESS),
    ROW(PMIX_PPR, PMIX_STRING, "1:node", PMIX_SUCCESS),
    ROW(PMIX_MAPBY, PMIX_STRING, "slot", PMIX_SUCCESS),
    ROW(PMIX_RANKBY, PMIX_STRING, "slot", PMIX_SUCCESS),
    ROW(PMIX_BINDTO, PMIX_STRING, "none", PMIX_SUCCESS),
    ROW(PMIX_CPUS_PER_PROC, PMIX_UINT32, &kOne, PMIX_SUCCESS),
    ROW(PMIX_CPU_LIST, PMIX_STRING, "0", PMIX_SUCCESS),
    ROW(PMIX_NO_PROCS_ON_HEAD, PMIX_BOOL, &kNo, PMIX_SUCCESS),
    ROW(PMIX_NO_OVERSUBSCRIBE, PMIX_BOOL, &kNo, PMIX_SUCCESS),
    YES(PMIX_REPORT_BINDINGS, PMIX_SUCCESS),
    // Input and output.
    ROW(PMIX_STDIN_TGT, PMIX_UINT32, &kRank, PMIX_SUCCESS),
    YES(PMIX_TAG_OUTPUT, PMIX_SUCCESS),
    YES(PMIX_TIMESTAMP_OUTPUT, PMIX_SUCCESS),
    YES(PMIX_MERGE_STDERR_STDOUT, PMIX_SUCCESS),
    ROW(PMIX_OUTPUT_TO_FILE, PMIX_STRING, g_output, PMIX_SUCCESS),
    ROW(PMIX_OUTPUT_TO_DIRECTORY, PMIX_STRING, g_output, PMIX_SUCCESS),
    YES(PMIX_INDEX_ARGV, PMIX_SUCCESS),
    // Exec agents and fork agents are supported, but no other daemon.
    ROW(PMIX_EXEC_AGENT, PMIX_STRING, "env", PMIX_SUCCESS),
    ROW(PMIX_FORKEXEC_AGENT, PMIX_STRING, "env", PMIX_SUCCESS),
    ROW(PMIX_LAUNCHER_DAEMON, PMIX_STRING, "env", PMIX_ERR_NOT_SUPPORTED),
    // The environment.
    ROW(PMIX_SET_ENVAR, PMIX_ENVAR, &kEnvar, PMIX_SUCCESS),
    ROW(PMIX_UNSET_ENVAR, PMIX_STRING, "CONFORMANCE", PMIX_SUCCESS),
    ROW(PMIX_ADD_ENVAR, PMIX_ENVAR, &kEnvar, PMIX_SUCCESS),
    ROW(PMIX_PREPEND_ENVAR, PMIX_ENVAR, &kEnvar, PMIX_SUCCESS),
    ROW(PMIX_APPEND_ENVAR, PMIX_ENVAR, &kEnvar, PMIX_SUCCESS),
    ROW(PMIX_FIRST_ENVAR, PMIX_ENVAR, &kEnvar, PMIX_SUCCESS),
    YES(PMIX_ENVARS_HARVESTED, PMIX_SUCCESS),
    // The lifetime of the job, and the handling of failures.
    YES(PMIX_JOB_RECOVERABLE, PMIX_SUCCESS),
    YES(PMIX_JOB_CONTINUOUS, PMIX_SUCCESS),
    ROW(PMIX_MAX_RESTARTS, PMIX_UINT32, &kOne, PMIX_SUCCESS),
    ROW(PMIX_JOB_TIMEOUT, PMIX_INT, &kSeconds, PMIX_SUCCESS),
    ROW(PMIX_SPAWN_TIMEOUT, PMIX_INT, &kSeconds, PMIX_SUCCESS),
    YES(PMIX_TIMEOUT_STACKTRACES, PMIX_SUCCESS),
    YES(PMIX_TIMEOUT_REPORT_STATE, PMIX_SUCCESS),
    ROW(PMIX_TIMEOUT, PMIX_INT, &kSeconds, PMIX_SUCCESS),
#ifdef PMIX_SPAWN_CHILD_SEP
    YES(PMIX_SPAWN_CHILD_SEP, PMIX_SUCCESS),
#endif
    ROW(PMIX_PSET_NAME, PMIX_STRING, "attributes", PMIX_SUCCESS),
    // The only application cannot be cospawned with another.
    WITH_OTHERS(PMIX_COSPAWN_APP, PMIX_BOOL, &kYes, PMIX_ERR_BAD_PARAM),
    YES(PMIX_SPAWN_TOOL, PMIX_SUCCESS),
    YES(PMIX_NOHUP, PMIX_SUCCESS),
    // Notifications.
    YES(PMIX_EVENT_SILENT_TERMINATION, PMIX_SUCCESS),
    YES(PMIX_NOTIFY_JOB_EVENTS, PMIX_SUCCESS),
    YES(PMIX_NOTIFY_COMPLETION, PMIX_SUCCESS),
    YES(PMIX_NOTIFY_PROC_TERMINATION, PMIX_SUCCESS),
    YES(PMIX_NOTIFY_PROC_ABNORMAL_TERMINATION, PMIX_SUCCESS),
    YES(PMIX_LOG_JOB_EVENTS, PMIX_SUCCESS),
    YES(PMIX_LOG_COMPLETION, PMIX_SUCCESS),
    YES(PMIX_LOG_PROC_TERMINATION, PMIX_SUCCESS),
    YES(PMIX_LOG_PROC_ABNORMAL_TERMINATION, PMIX_SUCCESS),
    // Input and output for tools.
    ROW(PMIX_FWD_STDIN, PMIX_PROC_RANK, &kRank, PMIX_SUCCESS),
    YES(PMIX_FWD_STDOUT, PMIX_SUCCESS),
    YES(PMIX_FWD_STDERR, PMIX_SUCCESS),
    YES(PMIX_FWD_STDDIAG, PMIX_SUCCESS),
    ROW(PMIX_IOF_CACHE_SIZE, PMIX_UINT32, &kOne, PMIX_SUCCESS),
    YES(PMIX_IOF_DROP_OLDEST, PMIX_SUCCESS),
    YES(PMIX_IOF_DROP_NEWEST, PMIX_SUCCESS),
    YES(PMIX_IOF_TAG_OUTPUT, PMIX_SUCCESS),
    YES(PMIX_IOF_TIMESTAMP_OUTPUT, PMIX_SUCCESS),
    YES(PMIX_IOF_MERGE_STDERR_STDOUT, PMIX_SUCCESS),
    ROW(PMIX_IOF_OUTPUT_TO_FILE, PMIX_STRING, g_output, PMIX_SUCCESS),
    ROW(PMIX_IOF_OUTPUT_TO_DIRECTORY, PMIX_STRING, g_output, PMIX_SUCCESS),
    ROW(PMIX_IOF_BUFFERING_SIZE, PMIX_UINT32, &kOne, PMIX_ERR_NOT_SUPPORTED),
    ROW(PMIX_IOF_BUFFERING_TIME, PMIX_UINT32, &kOne, PMIX_ERR_NOT_SUPPORTED),
    YES(PMIX_IOF_OUTPUT_RAW, PMIX_SUCCESS),
    YES(PMIX_IOF_XML_OUTPUT, PMIX_SUCCESS),
    YES(PMIX_IOF_RANK_OUTPUT, PMIX_SUCCESS),
    YES(PMIX_IOF_FILE_PATTERN, PMIX_SUCCESS),
    YES(PMIX_IOF_FILE_ONLY, PMIX_SUCCESS),
    // Debuggers. Stops are not requested, because the test has no debugger to
    // release the processes.
    ROW(PMIX_DEBUG_STOP_ON_EXEC, PMIX_BOOL, &kNo, PMIX_SUCCESS),
    ROW(PMIX_DEBUG_STOP_IN_INIT, PMIX_BOOL, &kNo, PMIX_SUCCESS),
    ROW(PMIX_DEBUG_STOP_IN_APP, PMIX_BOOL, &kNo, PMIX_SUCCESS),
    ROW(PMIX_DEBUG_TARGET, PMIX_PROC, &g_self, PMIX_SUCCESS),
    // The target job is missing.
    WITH_OTHERS(PMIX_DEBUGGER_DAEMONS, PMIX_BOOL, &kYes, PMIX_ERR_BAD_PARAM),
    WITH_OTHERS(PMIX_DEBUG_DAEMONS_PER_PROC, PMIX_UINT16, &kShort,
                PMIX_ERR_BAD_PARAM),
    WITH_OTHERS(PMIX_DEBUG_DAEMONS_PER_NODE, PMIX_UINT16, &kShort,
                PMIX_ERR_BAD_PARAM),
    ROW(PMIX_LAUNCH_DIRECTIVES, PMIX_DATA_ARRAY, &g_directives,
        PMIX_ERR_NOT_SUPPORTED),
    // An allocation of the job's own.
    ROW(PMIX_ALLOC_QUEUE, PMIX_STRING, "queue", PMIX_ERR_NOT_SUPPORTED),
    ROW(PMIX_ALLOC_TIME, PMIX_UINT32, &kOne, PMIX_ERR_NOT_SUPPORTED),
    ROW(PMIX_ALLOC_NUM_NODES, PMIX_UINT64, &kMany, PMIX_ERR_NOT_SUPPORTED),
    ROW(PMIX_ALLOC_NODE_LIST, PMIX_STRING, g_host, PMIX_ERR_NOT_SUPPORTED),
    ROW(PMIX_ALLOC_NUM_CPUS, PMIX_UINT64, &kMany, PMIX_ERR_NOT_SUPPORTED),
    ROW(PMIX_ALLOC_NUM_CPU_LIST, PMIX_STRING, "1", PMIX_ERR_NOT_SUPPORTED),
    ROW(PMIX_ALLOC_CPU_LIST, PMIX_STRING, "0", PMIX_ERR_NOT_SUPPORTED),
    ROW(PMIX_ALLOC_MEM_SIZE, PMIX_FLOAT, &kFloat, PMIX_ERR_NOT_SUPPORTED),
    ROW(PMIX_ALLOC_BANDWIDTH, PMIX_FLOAT, &kFloat, PMIX_ERR_NOT_SUPPORTED),
    ROW(PMIX_ALLOC_FABRIC_QOS, PMIX_STRING, "best", PMIX_ERR_NOT_SUPPORTED),
    ROW(PMIX_ALLOC_FABRIC_TYPE, PMIX_STRING, "tcp", PMIX_ERR_NOT_SUPPORTED),
    ROW(PMIX_ALLOC_FABRIC_PLANE, PMIX_STRING, "0", PMIX_ERR_NOT_SUPPORTED),
    ROW(PMIX_ALLOC_FABRIC_ENDPTS, PMIX_SIZE, &kSize, PMIX_ERR_NOT_SUPPORTED),
    ROW(PMIX_ALLOC_FABRIC_ENDPTS_NODE, PMIX_SIZE, &kSize,
        PMIX_ERR_NOT_SUPPORTED),
};

static const size_t kNumAttributes = sizeof(kAttributes) / sizeof(*kAttributes);

static void Prepare(const char *place) {
  PMIX_DATA_ARRAY_CONSTRUCT(&g_directives, 1, PMIX_INFO);
  PMIX_INFO_LOAD((pmix_info_t *)g_directives.array, PMIX_TAG_OUTPUT, NULL,
                 PMIX_BOOL);
  char *host = MustGetText(&g_self, PMIX_HOSTNAME, NULL);
  snprintf(g_host, sizeof(g_host), "%s", host);
  free(host);
  snprintf(g_hostfile, sizeof(g_hostfile), "%s/hosts", place);
  snprintf(g_output, sizeof(g_output), "%s/output", place);
  FILE *file = fopen(g_hostfile, "w");
  CHECK(file != NULL, "%s", g_hostfile);
  fprintf(file, "%s\n", g_host);
  fclose(file);
}

static void Set(const Attribute *attribute) {
  char program[] = "true";
  char *argv[2];
  pmix_app_t app = Program(program, argv);
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, attribute->key, attribute->value, attribute->type);
  PMIX_INFO_REQUIRED(&info);
  const pmix_status_t status = PMIx_Spawn(&info, 1, &app, 1, NULL);
  CHECK(status == attribute->want, "%s of the job gives %s, not %s",
        attribute->name, PMIx_Error_string(status),
        PMIx_Error_string(attribute->want));
  app.info = &info;
  app.ninfo = 1;
  BEGINS(PMIX_SUCCESS, call, PMIx_Spawn_nb, NULL, 0, &app, 1, OnSpawned);
  const pmix_status_t answer = Await(call);
  CHECK(answer == attribute->want, "%s of the application gives %s, not %s",
        attribute->name, PMIx_Error_string(answer),
        PMIx_Error_string(attribute->want));
  PMIX_INFO_DESTRUCT(&info);
}

// Requests daemons beside the processes of this job. The attributes of daemons
// are honoured only together.
static void SetDaemons(const char *key) {
  char program[] = "true";
  char *argv[2];
  pmix_app_t app = Program(program, argv);
  Directives all = {.count = 0};
  PMIX_INFO_LOAD(&all.info[all.count++], PMIX_DEBUGGER_DAEMONS, &kYes,
                 PMIX_BOOL);
  PMIX_INFO_LOAD(&all.info[all.count++], PMIX_DEBUG_TARGET, &g_self, PMIX_PROC);
  PMIX_INFO_LOAD(&all.info[all.count++], key, &kShort, PMIX_UINT16);
  for (size_t i = 0; i < all.count; ++i) PMIX_INFO_REQUIRED(&all.info[i]);
  app.maxprocs = 0;
  OK(PMIx_Spawn(all.info, all.count, &app, 1, NULL));
}

// Returns the attributes of PMIx_Spawn that the host reports as supported.
static const pmix_data_array_t *Supported(pmix_info_t **results, size_t *count) {
  char *keys[] = {PMIX_QUERY_ATTRIBUTE_SUPPORT, "PMIx_Spawn", NULL};
  Directives host = Flag(PMIX_HOST_ATTRIBUTES);
  pmix_query_t query;
  PMIX_QUERY_CONSTRUCT(&query);
  query.keys = keys;
  query.qualifiers = host.info;
  query.nqual = host.count;
  OK(PMIx_Query_info(&query, 1, results, count));
  const pmix_info_t *level = (*results)[0].value.data.darray->array;
  CHECK(PMIX_CHECK_KEY(level, PMIX_HOST_ATTRIBUTES), "%s", level->key);
  return level->value.data.darray;
}

static bool Names(const pmix_data_array_t *supported, const char *name) {
  const pmix_regattr_t *attributes = supported->array;
  for (size_t i = 0; i < supported->size; ++i) {
    if (strcmp(attributes[i].name, name) == 0) return true;
  }
  return false;
}

static void Answers(void) {
  pmix_info_t *results = NULL;
  size_t count = 0;
  const pmix_data_array_t *supported = Supported(&results, &count);
  size_t honoured = 0;
  for (size_t i = 0; i < kNumAttributes; ++i) {
    const Attribute *one = &kAttributes[i];
    const bool wanted = one->want == PMIX_SUCCESS || one->needs_more;
    CHECK(Names(supported, one->name) == wanted, "%s is %s", one->name,
          wanted ? "honoured, and not named" : "named, and not honoured");
    honoured += wanted;
  }
  CHECK(supported->size == honoured, "%zu are named, and %zu were tried",
        supported->size, honoured);
  PMIX_INFO_FREE(results, count);
}

int main(int argc, char **argv) {
  Start(argc, argv);
  CHECK(argc > 3, "no directory");
  if (g_self.rank == g_size - 1) {
    Prepare(argv[3]);
    for (size_t i = 0; i < kNumAttributes; ++i) Set(&kAttributes[i]);
    SetDaemons(PMIX_DEBUG_DAEMONS_PER_NODE);
    SetDaemons(PMIX_DEBUG_DAEMONS_PER_PROC);
    Answers();
  }
  Barrier();
  CallsAnsweredOnce();
  return Finish();
}
