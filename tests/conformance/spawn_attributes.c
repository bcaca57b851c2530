// Each attribute of PMIx_Spawn and PMIx_Spawn_nb, marked as required: it is
// honoured, or the call says that it is not supported. At job level for the
// one, in the application's infos for the other. Word: a directory for files.
#include "children.h"

typedef struct {
  const char *name;
  const char *key;
  pmix_data_type_t type;
  const void *value;
  pmix_status_t want;
} Attribute;

#define ROW(attribute, type, value, want) \
  { #attribute, attribute, type, value, want }
#define YES(attribute, want) ROW(attribute, PMIX_BOOL, &kYes, want)

static const bool kYes = true;
// Of what would need room that there may not be.
static const bool kNo = false;
static const uint32_t kOne = 1;
static const uint32_t kRank = 0;
static const uint64_t kMany = 1;
static const size_t kSize = 1;
static const float kFloat = 1.0f;
static const int kSeconds = 60;
static const pmix_envar_t kEnvar = {(char *)"CONFORMANCE", (char *)"x", ':'};
static char g_host[300];
static char g_hostfile[4200];
static char g_output[4200];

static const Attribute kAttributes[] = {
    // Required of a host.
    ROW(PMIX_WDIR, PMIX_STRING, "/", PMIX_SUCCESS),
    YES(PMIX_SET_SESSION_CWD, PMIX_SUCCESS),
    ROW(PMIX_PREFIX, PMIX_STRING, "/bin", PMIX_SUCCESS),
    ROW(PMIX_HOST, PMIX_STRING, g_host, PMIX_SUCCESS),
    ROW(PMIX_HOSTFILE, PMIX_STRING, g_hostfile, PMIX_SUCCESS),
    // Where the processes come from, and where they go.
    ROW(PMIX_ADD_HOST, PMIX_STRING, g_host, PMIX_SUCCESS),
    ROW(PMIX_ADD_HOSTFILE, PMIX_STRING, g_hostfile, PMIX_SUCCESS),
    YES(PMIX_PRELOAD_BIN, PMIX_SUCCESS),
    ROW(PMIX_PRELOAD_FILES, PMIX_STRING, "/etc/passwd", PMIX_SUCCESS),
    ROW(PMIX_PERSONALITY, PMIX_STRING, "ompi", PMIX_SUCCESS),
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
    // What they read and write.
    ROW(PMIX_STDIN_TGT, PMIX_UINT32, &kRank, PMIX_SUCCESS),
    YES(PMIX_TAG_OUTPUT, PMIX_SUCCESS),
    YES(PMIX_TIMESTAMP_OUTPUT, PMIX_SUCCESS),
    YES(PMIX_MERGE_STDERR_STDOUT, PMIX_SUCCESS),
    ROW(PMIX_OUTPUT_TO_FILE, PMIX_STRING, g_output, PMIX_SUCCESS),
    ROW(PMIX_OUTPUT_TO_DIRECTORY, PMIX_STRING, g_output, PMIX_SUCCESS),
    YES(PMIX_INDEX_ARGV, PMIX_SUCCESS),
    // Who executes them; others would have to be asked what to execute.
    ROW(PMIX_EXEC_AGENT, PMIX_STRING, "env", PMIX_SUCCESS),
    ROW(PMIX_FORKEXEC_AGENT, PMIX_STRING, "env", PMIX_ERR_NOT_SUPPORTED),
    ROW(PMIX_LAUNCHER_DAEMON, PMIX_STRING, "env", PMIX_ERR_NOT_SUPPORTED),
    // Their environment.
    ROW(PMIX_SET_ENVAR, PMIX_ENVAR, &kEnvar, PMIX_SUCCESS),
    ROW(PMIX_UNSET_ENVAR, PMIX_STRING, "CONFORMANCE", PMIX_SUCCESS),
    ROW(PMIX_ADD_ENVAR, PMIX_ENVAR, &kEnvar, PMIX_SUCCESS),
    ROW(PMIX_PREPEND_ENVAR, PMIX_ENVAR, &kEnvar, PMIX_SUCCESS),
    ROW(PMIX_APPEND_ENVAR, PMIX_ENVAR, &kEnvar, PMIX_SUCCESS),
    ROW(PMIX_FIRST_ENVAR, PMIX_ENVAR, &kEnvar, PMIX_SUCCESS),
    YES(PMIX_ENVARS_HARVESTED, PMIX_SUCCESS),
    // How long they live, and what becomes of those that fail.
    YES(PMIX_JOB_RECOVERABLE, PMIX_SUCCESS),
    YES(PMIX_JOB_CONTINUOUS, PMIX_SUCCESS),
    ROW(PMIX_MAX_RESTARTS, PMIX_UINT32, &kOne, PMIX_SUCCESS),
    ROW(PMIX_JOB_TIMEOUT, PMIX_INT, &kSeconds, PMIX_SUCCESS),
    ROW(PMIX_SPAWN_TIMEOUT, PMIX_INT, &kSeconds, PMIX_SUCCESS),
    YES(PMIX_TIMEOUT_STACKTRACES, PMIX_SUCCESS),
    YES(PMIX_TIMEOUT_REPORT_STATE, PMIX_SUCCESS),
    // Of the only application: beside which job?
    YES(PMIX_COSPAWN_APP, PMIX_ERR_BAD_PARAM),
    YES(PMIX_SPAWN_TOOL, PMIX_SUCCESS),
    YES(PMIX_NOHUP, PMIX_SUCCESS),
    // Who is told of it.
    YES(PMIX_EVENT_SILENT_TERMINATION, PMIX_SUCCESS),
    YES(PMIX_NOTIFY_JOB_EVENTS, PMIX_SUCCESS),
    YES(PMIX_NOTIFY_COMPLETION, PMIX_SUCCESS),
    YES(PMIX_NOTIFY_PROC_TERMINATION, PMIX_SUCCESS),
    YES(PMIX_NOTIFY_PROC_ABNORMAL_TERMINATION, PMIX_SUCCESS),
    YES(PMIX_LOG_JOB_EVENTS, PMIX_SUCCESS),
    YES(PMIX_LOG_COMPLETION, PMIX_SUCCESS),
    YES(PMIX_LOG_PROC_TERMINATION, PMIX_SUCCESS),
    YES(PMIX_LOG_PROC_ABNORMAL_TERMINATION, PMIX_SUCCESS),
    // An allocation of its own.
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

static void Prepare(const char *place) {
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

int main(int argc, char **argv) {
  Start(argc, argv);
  CHECK(argc > 3, "no directory");
  if (g_self.rank == g_size - 1) {
    Prepare(argv[3]);
    for (size_t i = 0; i < sizeof(kAttributes) / sizeof(*kAttributes); ++i) {
      Set(&kAttributes[i]);
    }
  }
  Barrier();
  CallsAnsweredOnce();
  return Finish();
}
